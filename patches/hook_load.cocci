// in src/network.c: mgpu_load_root
// in src/data.c: mgpu_number_loading mgpu_loading
// in include/darknet.h: stream
//
// load_network gives a root of replicas to those of Darknet's commands that are to
// have one, and the threads that load rows draw from streams of their own.

@ load @
typedef network;
identifier cfg, weights, clear;
@@
network *load_network(char *cfg, char *weights, int clear)
{
+   network *root = mgpu_load_root(cfg, weights, clear);
+   if(root) return root;
    ...
}

@ arguments @
@@
struct load_args {
    ...
    tree *hierarchy;
++  size_t stream;
    ...
};

@ start @
typedef load_args, pthread_t;
identifier args, ptr;
@@
pthread_t load_data_in_thread(load_args args)
{
    ...
    *ptr = args;
+   ptr->stream = mgpu_number_loading();
    ...
}

@ run @
identifier ptr, a;
@@
void *load_thread(void *ptr)
{
    load_args a = ...;
+   mgpu_loading(a.stream);
    ...
}
