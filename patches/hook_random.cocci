// in src/*.c: mgpu_hooks mgpu_rand
// in examples/*.c: mgpu_rand mgpu_srand
// in src/utils.c: mgpu_hooks mgpu_rand
// in src/convolutional_layer.c: mgpu_rand_normal
// in src/yolo_layer.c: -srand
//
// All random numbers come from one counter-based generator that can be seeded
// per batch and row. Building a layer neither reseeds it nor, in a replica,
// draws from it.

@ includes @
@@
(
#include "utils.h"
+ #include "mgpu_hooks.h"
|
#include "darknet.h"
+ #include "mgpu_hooks.h"
)

@ constructor @
identifier f =~ "^make_.*_layer$";
expression E;
@@
f(...)
{
    <...
-   srand(E);
    ...>
}

@ @
@@
- rand()
+ mgpu_rand()

@ @
expression E;
@@
- srand(E)
+ mgpu_srand(E)

@ @
@@
- rand_normal()
+ mgpu_rand_normal()
