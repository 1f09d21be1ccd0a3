// in src/crop_layer.c: mgpu_hooks mgpu_crop
//
// A replica crops and mirrors each row of the mini-batch by draws of its own.

@ includes @
@@
#include "crop_layer.h"
+ #include "mgpu_hooks.h"

@ drawn @
typedef crop_layer;
typedef network;
identifier l, net, flipped, down, right;
expression E1, E2, E3;
@@
void forward_crop_layer(const crop_layer l, network net)
{
    ...
    int flipped = (l.flip && E1);
    int down = E2;
    int right = E3;
    ...
}

@ each_row @
identifier l, net, row;
identifier drawn.flipped, drawn.down, drawn.right;
@@
void forward_crop_layer(const crop_layer l, network net)
{
    <...
    for(row = 0; row < l.batch; ++row){
+       mgpu_crop(l, net, row, &flipped, &down, &right);
        ...
    }
    ...>
}
