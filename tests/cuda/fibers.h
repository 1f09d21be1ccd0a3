/* fibers.h: stacks for the threads of a block. */
#ifndef FAKE_CUDA_FIBERS_H
#define FAKE_CUDA_FIBERS_H

#include <functional>

namespace fake_cuda
{

/* Runs `threads` once; if it parks, again on another stack, until `left()` says that no
 * thread of the block is left to begin, then those that parked, in the order in which they
 * did. Returns when all have ended. */
void run_block(const std::function<void()> &threads, bool (*left)());

/* Called from within `threads`: parks the caller until all others have parked or ended. */
void park();

} // namespace fake_cuda
#endif
