// in include/darknet.h: replicas nreplicas mgpu
//
// A network can be the root of a set of replicas: it holds them, and one
// pointer to what the module keeps beside them. In a replica `replicas` is
// null and `mgpu` leads to the replica's own part.

@ struct_network @
@@
struct network {
    ...
    float clip;
++  struct network **replicas;
++  int nreplicas;
++  void *mgpu;
    ...
};
