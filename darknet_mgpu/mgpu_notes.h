/* mgpu_notes.h: what a user should know about a network on its devices. */
#ifndef MGPU_NOTES_H
#define MGPU_NOTES_H

#include "darknet.h"

/* Says on stderr, a line each: devices without rows or cores, batch normalisation over slices,
 * where `reproducible` does not hold, and what of the cfg has no effect; with
 * `predicts` only what matters to predicting. `root` is a root. */
void mgpu_say_notes(const network *root, int predicts);

#endif
