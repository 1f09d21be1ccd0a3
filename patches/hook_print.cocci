// in src/*_layer.c: mgpu_fprintf
// in src/yolo_layer.c: mgpu_hooks mgpu_fprintf mgpu_printf
// in src/iseg_layer.c: mgpu_hooks mgpu_printf
// in src/parser.c: mgpu_fprintf
// in src/option_list.c: mgpu_hooks mgpu_fprintf
//
// Darknet prints a table of the layers while it builds a network, and the
// detection layers a line in every forward pass. Replicas are built and run
// without a word: the root has said it.

@ includes @
@@
#include <stdio.h>
+ #include "mgpu_hooks.h"

@ table @
expression list E;
@@
- fprintf(stderr, E)
+ mgpu_fprintf(stderr, E)

@ line @
identifier f =~ "^forward_(yolo|region|detection|iseg)_layer$";
expression list E;
@@
f(...)
{
    <...
-   printf(E)
+   mgpu_printf(E)
    ...>
}
