/* od_fork.h — fork and join: two branches, the second of which another thread may take.
 *
 *     static void right(void *frame) { … }
 *
 *     od_fork_slot *branch = od_fork(right, &frame);   it may be taken from here on
 *     left(…);                                         runs here
 *     od_join(branch, right, &frame);                  runs it here, or waits for its thief
 *
 * Forks nest to any depth, and joins come in the opposite order of forks, on the thread that
 * forked. A fork that nobody takes costs a few stores and two comparisons: no allocation, no
 * locked instruction, no call. On a worker it belongs to the worker's pool; any other thread
 * becomes an external thread of od_default_pool's for as long as its outermost fork lasts, and runs the
 * root itself. A join that has to wait runs branches that its own branch has forked, and
 * nothing else.
 *
 * Each thread keeps its forks on a stack of slots. Those below `limit` may be taken; a thief
 * asks for more by raising `limit` over everything, so that the comparison which the owner
 * makes anyway fails. How that works is in worker/forks.h.
 *
 * The scheme is a descendant of Lace's split deque (van Dijk, van de Pol, MUSEPAT 2014, §3);
 * waiting by leapfrogging is Wagner's and Calder's (PPoPP 1993).
 */
#ifndef OD_FORK_H
#define OD_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

/* The engine and its model checker read these words through their own forms of these. */
#ifndef OD_FORK_ATOMIC
#define OD_FORK_ATOMIC(type) type
#define OD_FORK_LOAD(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define OD_FORK_PUBLISH(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define OD_FORK_BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif
#define OD_FORK_RARE(condition) __builtin_expect(!!(condition), 0)

struct odi_forks;

/* One fork. The first half is its owner's, the second its thief's. */
typedef struct od_fork_slot {
    uint64_t code; /* a Swift closure's code; of a C function the complement */
    void *context;
    OD_FORK_ATOMIC(struct odi_forks *) thief; /* who runs it */
    OD_FORK_ATOMIC(uint32_t) state;
    union {
        uint32_t number; /* which of several branches it is, where its code is told */
        uint32_t base;   /* once a thief has read that: how high its own stack was then */
    };
} od_fork_slot;

/* Turned over in the code of branches that are told their number, and may leave a result of up to 16
 * bytes where their code and context were. */
#define OD_FORK_NUMBERED (UINT64_C(1) << 62)

/* The owner's end of a thread's forks. */
typedef struct od_forks {
    OD_FORK_ATOMIC(od_fork_slot *) head; /* the next free slot */
    OD_FORK_ATOMIC(uintptr_t) limit;     /* from here on slots are private; or asked for */
} od_forks;

/* The calling thread's; NULL where it has never forked and is no worker. */
extern __thread od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

/* The rare ways of fork and join; not for direct use. */
od_fork_slot *od_fork_first(uint64_t code, void *context);
od_fork_slot *od_fork_first_numbered(uint64_t code, void *context, uint32_t number);
void od_fork_asked(void);
void od_join_slow(void);

/* The same in two steps, for who would rather run the branch by a call that the compiler sees. True:
 * nobody has it, the caller runs it and calls od_join_end. False: it is over. */
bool od_join_back(void);
void od_join_end(void);

/* The same for branches with numbers; but the caller calls od_join_end in either case, once it has
 * read the result. */
bool od_join_numbered_back(void);

/* The same, read anew. Left to the compiler, its offset among the thread-locals would be kept
 * in a register across the first branch, which costs more than it saves. */
static inline __attribute__((always_inline)) od_forks *od_forks_here(void)
{
#if defined(__x86_64__) && !defined(ODI_MODEL)
    od_forks *forks;
    __asm__ volatile("movq od_forks_self@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0"
                     : "=r"(forks));
    return forks;
#else
    return od_forks_self;
#endif
}

/* Offers `code` to thieves; the caller pops what this returns before it returns itself. It is
 * kept across the first branch so that no pop has to wait for the store of the push before. */
static inline __attribute__((always_inline)) od_fork_slot *od_fork_push(uint64_t code,
                                                                       void *context)
{
    od_forks *forks = od_forks_here();

    if (OD_FORK_RARE(forks == NULL))
        return od_fork_first(code, context);
    od_fork_slot *slot = OD_FORK_LOAD(&forks->head);
    slot->code = code;
    slot->context = context;
    OD_FORK_PUBLISH(&forks->head, slot + 1);
    OD_FORK_BARRIER();
    if (OD_FORK_RARE(OD_FORK_LOAD(&forks->limit) > (uintptr_t)slot))
        od_fork_asked();
    return slot;
}

/* The same for several branches of one code and context, each with a number of its own. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork_push_numbered(uint64_t code, void *context, uint32_t number)
{
    od_forks *forks = od_forks_here();

    if (OD_FORK_RARE(forks == NULL))
        return od_fork_first_numbered(code, context, number);
    OD_FORK_LOAD(&forks->head)->number = number; /* the slot that is pushed */
    return od_fork_push(code ^ OD_FORK_NUMBERED, context);
}

/* Takes the newest fork back. True: nobody has it, and the caller runs it. False: the caller
 * calls od_join_slow, after which it is done. */
static inline __attribute__((always_inline)) bool od_fork_pop(od_fork_slot *slot)
{
    od_forks *forks = od_forks_here();

    OD_FORK_PUBLISH(&forks->head, slot);
    OD_FORK_BARRIER();
    return !OD_FORK_RARE(OD_FORK_LOAD(&forks->limit) > (uintptr_t)slot);
}

/* Whether a thief has asked for work and the calling thread has none exposed: a loop that can
 * be divided forks a part of itself now. Threads that have never forked are asked. */
static inline __attribute__((always_inline)) bool od_fork_wanted(void)
{
    od_forks *forks = od_forks_here();

    return forks == NULL || OD_FORK_LOAD(&forks->limit) >= (uintptr_t)-2;
}

/* Whether the calling thread has so many forks under way that the rest of its stack of forks had
 * better be left to what is nested deeper: who forks without end joins or calls instead. */
bool od_fork_is_crowded(void);

/* Whether `branch` is the newest fork that the calling thread has under way, in the pool whose external thread or
 * worker it is. */
static inline __attribute__((always_inline)) bool od_fork_is_newest(const od_fork_slot *branch)
{
    od_forks *forks = od_forks_here();

    return forks != NULL && OD_FORK_LOAD(&forks->head) == branch + 1;
}

/* Offers function(context). `context` stays valid until the join. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork(void (*function)(void *), void *context)
{
    return od_fork_push(~(uint64_t)(uintptr_t)function, context);
}

/* Runs what the newest fork, `branch`, offered, or waits until its thief has. The same
 * function and context as there, so that the compiler sees the call. */
static inline __attribute__((always_inline)) void
od_join(od_fork_slot *branch, void (*function)(void *), void *context)
{
    if (od_fork_pop(branch))
        function(context);
    else
        od_join_slow();
}

/* Offers function(context, number): one of several branches that differ by nothing else, and follow
 * each other in the stack. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork_numbered(void (*function)(void *, uint32_t), void *context, uint32_t number)
{
    return od_fork_push_numbered(~(uint64_t)(uintptr_t)function, context, number);
}

static inline __attribute__((always_inline)) void
od_join_numbered(od_fork_slot *branch, void (*function)(void *, uint32_t), void *context,
                 uint32_t number)
{
    if (od_fork_pop(branch)) {
        function(context, number);
        return;
    }
    if (od_join_numbered_back())
        function(context, number);
    od_join_end();
}

OD_END_DECLS
#endif
