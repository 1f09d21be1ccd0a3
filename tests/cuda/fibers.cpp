/* fibers.cpp: a block's threads run as one plain loop, until one of them meets a barrier.
 * Its stack is parked then, and a fresh one goes on with the loop. */
#undef _FORTIFY_SOURCE /* its longjmp takes a change of stacks for a fault */

#include "fibers.h"
#include "cuda_runtime.h"

#include <csetjmp>
#include <deque>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

/* The sanitizers have to be told of a change of stacks, and know only swapcontext. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define SANITIZED 1
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

namespace fake_cuda
{

static const size_t stack_bytes = SANITIZED ? 256 << 10 : 64 << 10;

namespace
{
struct fiber {
    ucontext_t context; /* where to go on: of a fresh one, and of all under a sanitizer */
    jmp_buf place;
    bool begun = false;
    char *stack = nullptr;
    const void *bottom = nullptr; /* the stack as the address sanitizer names it */
    size_t bytes = 0;
    void *shadow = nullptr; /* the thread sanitizer's */

    ~fiber()
    {
#if defined(__SANITIZE_THREAD__)
        if(stack && shadow) __tsan_destroy_fiber(shadow);
#endif
        if(stack) munmap(stack, stack_bytes);
    }
};

/* What one thread of the host needs to run blocks. */
struct scheduler {
    fiber host; /* the thread's own stack */
    fiber *now = &host;
    std::vector<std::unique_ptr<fiber>> all;
    std::vector<fiber *> idle;
    std::deque<fiber *> parked, ready;
    const std::function<void()> *threads = nullptr;
    bool (*left)() = nullptr;
};
} // namespace

static thread_local scheduler here;

/* A fiber goes on in the thread that began it, but the compiler does not know. */
__attribute__((noinline)) static scheduler &mine()
{
    return here;
}

static void arrive(scheduler &s, const void **from, size_t *bytes)
{
    (void)s, (void)from, (void)bytes;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, from, bytes);
#endif
}

static void jump(fiber *from, fiber *to)
{
#if SANITIZED
    to->begun = true;
#if defined(__SANITIZE_THREAD__)
    if(!from->shadow) from->shadow = __tsan_get_current_fiber();
    if(!to->shadow) to->shadow = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->shadow, 0);
    swapcontext(&from->context, &to->context);
#else
    void *fake_stack;
    __sanitizer_start_switch_fiber(&fake_stack, to->bottom, to->bytes);
    swapcontext(&from->context, &to->context);
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
#else
    if(_setjmp(from->place)) return;
    if(to->begun) _longjmp(to->place, 1);
    to->begun = true;
    setcontext(&to->context);
#endif
}

/* Goes on with another stack; each thread of the block keeps its threadIdx. */
static void switch_to(scheduler &s, fiber *to)
{
    fiber *from = s.now;
    if(from == to) return;
    uint3 index = threadIdx;
    s.now = to;
    jump(from, to);
    threadIdx = index;
}

/* Who is next at a barrier, or null: those that parked are ready once all have. */
static fiber *next_ready(scheduler &s)
{
    if(s.ready.empty()) s.ready.swap(s.parked);
    if(s.ready.empty()) return nullptr;
    fiber *next = s.ready.front();
    s.ready.pop_front();
    return next;
}

static void fiber_main()
{
    scheduler &s = mine();
    const void *bottom = nullptr;
    size_t bytes = 0;
    arrive(s, &bottom, &bytes);
    if(!s.host.bottom) {
        s.host.bottom = bottom;
        s.host.bytes = bytes;
    }
    for(;;) {
        (*s.threads)();
        s.idle.push_back(s.now);
        fiber *next = next_ready(s);
        switch_to(s, next ? next : &s.host);
    }
}

static fiber *fresh(scheduler &s)
{
    if(!s.idle.empty()) {
        fiber *f = s.idle.back();
        s.idle.pop_back();
        return f;
    }
    auto f = std::make_unique<fiber>();
    f->stack = (char *)mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if(f->stack == MAP_FAILED) abort();
    /* Tops that differ do not all fall into the same lines of the cache. */
    f->bytes = stack_bytes - s.all.size() % 61 * 256;
    f->bottom = f->stack;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = f->bytes;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fiber_main, 0);
    s.all.push_back(std::move(f));
    return s.all.back().get();
}

void park()
{
    scheduler &s = mine();
    s.parked.push_back(s.now);
    switch_to(s, s.left() ? fresh(s) : next_ready(s));
}

void run_block(const std::function<void()> &threads, bool (*left)())
{
    scheduler &s = mine();
    s.host.begun = true;
    s.threads = &threads;
    s.left = left;
    threads();
    /* The host's own stack may have been one of the parked: others may still be. */
    while(fiber *next = next_ready(s)) switch_to(s, next);
}

} // namespace fake_cuda
