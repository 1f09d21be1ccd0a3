/* mgpu_checkpoint.h: weights files, checked before they are loaded. */
#ifndef MGPU_CHECKPOINT_H
#define MGPU_CHECKPOINT_H

#include "darknet.h"

/* Checks that `file` is a weights file for layers start..cutoff-1 of `net`, whose
 * layers are all in the module's table: readable, with a whole header, and ending
 * exactly at the border of a layer that has weights. With cutoff below net->n bytes
 * may be left over. Honours dontload, dontloadscales and numload, and the older
 * header with a 4-byte `seen`.
 * Returns -1 with mgpu_error(), or else the number of layers that the file gives
 * weights to, counted from layer 0: net->n means all. Changes nothing. */
int mgpu_check_weights(const network *net, const char *file, int start, int cutoff);

#endif
