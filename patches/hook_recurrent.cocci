// in src/lstm_layer.c: mgpu
// in src/gru_layer.c: mgpu
// in src/rnn_layer.c: mgpu
//
// The network that a recurrent layer hands to the layers within it is the replica's, too.

@ within @
typedef network;
identifier s, net;
@@
    network s = {0};
    s.train = net.train;
+   s.mgpu = net.mgpu;
+   s.replicas = net.replicas;
