/* mgpu_blocks.h: Darknet's layers that learn nothing, on images in blocks of channels: a row
 * has [channels / block][h][w][block]. Each gives what Darknet's gives on planes. */
#ifndef MGPU_BLOCKS_H
#define MGPU_BLOCKS_H

#include "darknet.h"

/* They have the arguments of Darknet's forward and backward functions, and the block. */
void mgpu_blocks_forward_maxpool(layer l, network net, int block);
void mgpu_blocks_backward_maxpool(layer l, network net, int block);

/* Its output is the same in either order. */
void mgpu_blocks_forward_avgpool(layer l, network net, int block);
void mgpu_blocks_backward_avgpool(layer l, network net, int block);

/* Draws for the same numbers as on planes. */
void mgpu_blocks_forward_dropout(layer l, network net, int block);
void mgpu_blocks_backward_dropout(layer l, network net, int block);

void mgpu_blocks_forward_shortcut(layer l, network net, int block);
void mgpu_blocks_backward_shortcut(layer l, network net, int block);

#endif
