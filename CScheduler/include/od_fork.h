/* od_fork.h — fork and join: two branches, the second of which another thread may take.
 *
 *     static void right(void *frame) { … }
 *
 *     od_fork_slot *branch = od_fork(right, &frame);   from here on a thief may take it
 *     left(…);                                         runs here
 *     od_join(branch, right, &frame);                  runs it here, or waits for its thief
 *
 * Forks nest to any depth. The thread that forked joins its forks, the newest first. A fork that no thief
 * takes costs a few stores and two comparisons: no allocation, no locked instruction, no call.
 *
 * A worker's fork belongs to the worker's pool. Any other thread becomes an external thread of
 * od_default_pool until its outermost fork is joined; it runs the root branch itself. A join that has to wait
 * runs only branches that its own branch has forked.
 *
 * Each thread keeps its forks on a stack of slots. Thieves may take the slots below `limit`. A thief asks for
 * more by raising `limit` above every slot, so that the owner's next comparison fails. The file
 * worker/forks.h explains the protocol.
 *
 * The scheme descends from Lace's split deque (van Dijk, van de Pol, MUSEPAT 2014, §3). Waiting by
 * leapfrogging comes from Wagner and Calder (PPoPP 1993).
 */
#ifndef OD_FORK_H
#define OD_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

/* The engine and its model checker define these macros to access the words below in their own way. */
#ifndef OD_FORK_ATOMIC
#define OD_FORK_ATOMIC(type) type
#define OD_FORK_LOAD(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define OD_FORK_PUBLISH(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
#define OD_FORK_BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif
#define OD_FORK_RARE(condition) __builtin_expect(!!(condition), 0)

struct odi_forks;

/* One fork: the owner writes the first half of the slot, the thief the second half. */
typedef struct od_fork_slot {
    uint64_t code; /* the code of a Swift closure, or the complement of a C function's address */
    void *context;
    OD_FORK_ATOMIC(struct odi_forks *) thief; /* the thread that runs it */
    OD_FORK_ATOMIC(uint32_t) state;
    union {
        uint32_t number; /* branch number, if the code takes one */
        uint32_t base;   /* after the thief has read the number: the height of the thief's stack */
    };
} od_fork_slot;

/* Inverted in the code of a branch that receives its number. Such a branch may leave a result of up to 16
 * bytes in place of its code and context. */
#define OD_FORK_NUMBERED (UINT64_C(1) << 62)

/* The owner's end of a thread's fork stack. */
typedef struct od_forks {
    OD_FORK_ATOMIC(od_fork_slot *) head; /* the next free slot */
    OD_FORK_ATOMIC(uintptr_t) limit;     /* slots from this address on are private; a huge value is a thief's
                                            request */
} od_forks;

/* Forks of the calling thread; NULL if it has never forked and is not a worker. */
extern __thread od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

/* The slow paths of fork and join; not for direct use. */
od_fork_slot *od_fork_first(uint64_t code, void *context);
od_fork_slot *od_fork_first_numbered(uint64_t code, void *context, uint32_t number);
void od_fork_asked(void);
void od_join_slow(void);

/* The two steps of od_join_slow, for a caller that runs the branch by a call that the compiler can inline. If
 * od_join_back returns true, no thief has the branch: the caller runs it and then calls od_join_end. If it
 * returns false, the branch has finished. */
bool od_join_back(void);
void od_join_end(void);

/* The counterpart for numbered branches. The caller calls od_join_end in either case, after it has read the
 * result. */
bool od_join_numbered_back(void);

/* Reads od_forks_self again from thread-local storage. Without this the compiler would keep the variable's
 * offset in a register across the first branch, which costs more than the load. */
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

/* Publishes the slot at `head` with this code and context. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork_publish(od_forks *forks, od_fork_slot *slot, uint64_t code, void *context)
{
    slot->code = code;
    slot->context = context;
    OD_FORK_PUBLISH(&forks->head, slot + 1);
    OD_FORK_BARRIER();
    if (OD_FORK_RARE(OD_FORK_LOAD(&forks->limit) > (uintptr_t)slot))
        od_fork_asked();
    return slot;
}

/* Offers `code` to thieves; the caller pops the returned slot before it returns. The caller keeps the slot
 * across the first branch, so that the pop does not wait for the push's store. */
static inline __attribute__((always_inline)) od_fork_slot *od_fork_push(uint64_t code,
                                                                       void *context)
{
    od_forks *forks = od_forks_here();

    if (OD_FORK_RARE(forks == NULL))
        return od_fork_first(code, context);
    return od_fork_publish(forks, OD_FORK_LOAD(&forks->head), code, context);
}

/* Offers one of several branches that share code and context and differ in `number`. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork_push_numbered(uint64_t code, void *context, uint32_t number)
{
    od_forks *forks = od_forks_here();

    if (OD_FORK_RARE(forks == NULL))
        return od_fork_first_numbered(code, context, number);
    od_fork_slot *slot = OD_FORK_LOAD(&forks->head);
    slot->number = number;
    return od_fork_publish(forks, slot, code ^ OD_FORK_NUMBERED, context);
}

/* Takes the newest fork back. True: no thief has it, and the caller runs it. False: the caller calls
 * od_join_slow, after which the branch has finished. */
static inline __attribute__((always_inline)) bool od_fork_pop(od_fork_slot *slot)
{
    od_forks *forks = od_forks_here();

    OD_FORK_PUBLISH(&forks->head, slot);
    OD_FORK_BARRIER();
    return !OD_FORK_RARE(OD_FORK_LOAD(&forks->limit) > (uintptr_t)slot);
}

/* Whether a thief has asked for work and the calling thread offers none: a divisible loop should fork a part
 * of itself now. True for a thread that has never forked. */
static inline __attribute__((always_inline)) bool od_fork_wanted(void)
{
    od_forks *forks = od_forks_here();

    return forks == NULL || OD_FORK_LOAD(&forks->limit) >= (uintptr_t)-2;
}

/* Whether the calling thread has used so many fork slots that the rest should be left to nested code. A
 * caller that forks in a loop then joins, or calls its function directly. */
bool od_fork_is_crowded(void);

/* Whether `branch` is the newest unjoined fork of the calling thread. */
static inline __attribute__((always_inline)) bool od_fork_is_newest(const od_fork_slot *branch)
{
    od_forks *forks = od_forks_here();

    return forks != NULL && OD_FORK_LOAD(&forks->head) == branch + 1;
}

/* Offers function(context) to thieves. `context` stays valid until the join. */
static inline __attribute__((always_inline)) od_fork_slot *
od_fork(void (*function)(void *), void *context)
{
    return od_fork_push(~(uint64_t)(uintptr_t)function, context);
}

/* Runs the newest fork, `branch`, or waits until its thief has run it. Pass the function and context of the
 * fork, so that the compiler can inline the call. */
static inline __attribute__((always_inline)) void
od_join(od_fork_slot *branch, void (*function)(void *), void *context)
{
    if (od_fork_pop(branch))
        function(context);
    else
        od_join_slow();
}

/* Offers function(context, number), one of several consecutive branches that differ only in their number. */
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
