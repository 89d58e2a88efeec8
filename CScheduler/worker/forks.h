/* forks.h — a thread's fork stack: a private part without cost for its owner, and a shared part from which
 * thieves take.
 *
 *     slots    0 … tail … split … head        tail, split: one word; head: the owner's
 *              taken  shared  private
 *
 * The owner forks and joins at `head`. Thieves take the oldest shared fork by a compare-and-swap on the word,
 * and read the slot only afterwards. The value of `limit` decides whether the owner's fast path applies:
 *
 *     address of slots[split]   forks are private from here on; a join below takes the slow path
 *     ASKED      a thread wants more forks. Also the state of an empty stack, so that every root
 *                fork takes the slow path, which exposes it and wakes sleepers. A request stays
 *                until it can be met.
 *     CLAIMED    a thief moves the split
 *     OPEN       replaces the address if membarrier is refused: all forks and joins are slow
 *
 *     normal -> ASKED     by a thief, also before it sleeps; or by the owner, when empty
 *     ASKED -> normal     by the owner, which has exposed half of its private forks
 *     ASKED -> CLAIMED    by a thief whose request was not met for 20 µs, because the owner is in
 *                         a long branch, or blocked
 *     CLAIMED -> normal   by that thief, which has exposed everything; -> ASKED if there was nothing
 *
 * Migration is safe because of the order of accesses (F2). The owner writes `head` before it reads `limit`.
 * The thief writes CLAIMED, executes a heavy fence, and then reads `head`. A pop that missed the claim has
 * lowered the head that the thief reads. A pop that sees the claim waits for its end. During CLAIMED the
 * owner changes neither word nor limit. If membarrier is refused, `limit` is OPEN and the slow path has a
 * real fence.
 *
 * A slot's `state`: 0 -> DONE (thief) | GIVEN_BACK (a thief that must not run it; the owner runs it) -> 0
 * (owner). 0 -> PARKED (owner, about to sleep) -> DONE | GIVEN_BACK, which wake the owner. In a forked child,
 * branches that the parent's threads ran become LOST, and their join traps.
 *
 * A joiner whose fork was taken takes forks back from that thief (leapfrogging). While the thief runs the
 * fork, all its forks descend from the joined fork, because a thread steals only without forks of its own. If
 * the thief has finished in between, the forks may be unrelated, and the joiner gives them back. A join
 * therefore runs only its own descendants. A thread's stack holds at most one path of the fork tree, each
 * frame at most twice.
 *
 * Threads  fork, pop, join: the owner. Everything else: any thief. An odi_forks stays mapped
 *          while its team lives.
 *
 * Edges    F1  fork -> steal          release/acquire     the slot's words are readable
 *          F2  fork, pop <-> claim    light/heavy fence   the owner sees the claim or the
 *                                                         request, or the thief sees the head
 *          F3  migrate -> owner       release/acquire     the owner may change the word again
 *          F4  thief <-> joiner       release/acquire     the branch's writes, or the sleeper
 *          F5  wake -> sleeping joiner release/acquire    the reason of the wake-up
 *          F8  expose -> steal        release/acquire     the slot's words, by the split
 *          F9  note -> steal          release/acquire     the notes on the thread's contexts
 *          F10 thief -> joiner        release/acquire     the thread that runs the slot
 *
 * How the waits end: the claimer ends a claim after a few instructions and one membarrier. The thief ends a
 * join by finishing the branch or giving it back. A sleeping joiner leaves a request with its thief, and a
 * thread that meets the request wakes the joiner. A thief holds one request only. If two joiners sleep on one
 * thief, the earlier sleeps until its branch ends; workers still take forks.
 */
#ifndef ODI_WORKER_FORKS_H
#define ODI_WORKER_FORKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "observe/counters.h"
#include "os/futex.h"
#include "os/membarrier.h"

#define OD_FORK_ATOMIC(type) odi_atomic(type)
#define OD_FORK_LOAD(place) odi_load_relaxed(place) /* relaxed: the owner's, or F2's fence precedes it */
#define OD_FORK_PUBLISH(place, value) odi_store_release((place), (value), F1)
#define OD_FORK_BARRIER() odi_fence_light(F2)
#include "include/od_external.h"

#pragma GCC visibility push(hidden)

typedef struct odi_team odi_team;
typedef struct odi_worker odi_worker;
typedef struct odi_forks odi_forks;

#define ODI_FORKS_ASKED UINTPTR_MAX
#define ODI_FORKS_CLAIMED (UINTPTR_MAX - 1)
#define ODI_FORKS_OPEN (UINTPTR_MAX - 2) /* below the values that od_fork_wanted accepts */

/* The context of a job, innermost first: scopes in queues, inline jobs, and the record of the run. */
typedef struct odi_around {
    const struct od_scope *scopes;
    const struct odi_outside *outsides;
    struct odi_record *record;
    const struct odi_descent *descent;
} odi_around;

/* The context of a stolen branch is its fork's context, not the context of the thief's thread. Walks that
 * reach `scopes` and `outsides` continue at `from`. All of these outlive the branch. */
typedef struct odi_descent {
    const struct od_scope *scopes;
    const struct odi_outside *outsides;
    odi_around from;
    void *work;                 /* the fork's */
    struct odi_descent *outer; /* of a branch or job below on the thread's stack */
} odi_descent;

/* A note: forks from `place` on belong to this work and context. Notes form an array that grows for its
 * readers: notes below a thief's slot stay until that slot is joined. */
typedef struct {
    odi_atomic(uint32_t) place;
    odi_atomic(void *) work;
    odi_around around;
} odi_forks_note;

/* The limit of notes per thread. Forks below further nested work inherit the last note. The array is address
 * space; unused pages are never touched. */
enum { ODI_FORKS_NOTES = 32768 };

enum { ODI_FORK_PARKED = 1, ODI_FORK_DONE = 2, ODI_FORK_GIVEN_BACK = 3, ODI_FORK_LOST = 4 };

struct odi_forks {
    od_forks owner; /* first member: od_forks_self points here */
    od_fork_slot *slots;
    size_t bytes;        /* size of the slots */
    odi_atomic(void *) work; /* the root's work (od_fork_root_work); notes hold work begun above the root */
    odi_around around;   /* the context in which the root was forked */
    uint32_t depth;      /* open forks and scopes if no thief may take them; otherwise the roots that the
                            owner runs itself */
    odi_team *team;      /* NULL: no thief may take them */
    odi_worker *worker;  /* NULL: an external thread */
    bool leaves_at_root; /* an external thread that entered by forking */
    bool in_worker;      /* part of a worker's memory, even while an external thread uses it: see
                            odi_external_begin_as */

    ODI_PAIR_ALIGNED odi_atomic(uint64_t) word; /* split (32) | tail (32) */
    odi_atomic(uint32_t) taken;                 /* slot of an external thread is in use: see external.h */
    odi_atomic(bool) says_blocking;             /* an external thread between blocking_begin and _end */
    uint32_t blocking_depth;                    /* nesting of blocking_begin on an external thread */
    pthread_t thread;                           /* the thread that owns the stack, or owned it last */
    odi_atomic(struct odi_forks *) asker;       /* a sleeping joiner that wants more forks */
    odi_atomic(uint32_t) wakeup;                /* the owner sleeps on this word in a join */
    odi_atomic(uint32_t) note_count;
    odi_forks_note *notes;                      /* NULL: no memory was available */
    odi_counter stolen;                         /* forks of other threads that this thread ran */
};

/* A thief's record of its current request. */
typedef struct {
    odi_forks *asked;
    int64_t asked_ns, again_ns;
} odi_steal_request;

/* Reserves address space for slots: for as many forks as a stack of `stack_bytes` can hold, or fewer. Returns
 * false if no address space is available. */
bool odi_forks_make(odi_forks *forks, odi_team *team, odi_worker *worker, size_t stack_bytes);
void odi_forks_free(odi_forks *forks);

/* Takes the oldest shared fork. Returns NULL if there is none. */
od_fork_slot *odi_forks_steal(odi_forks *victim);

/* Asks a victim without shared forks for more, and migrates its forks if it does not answer. `now` is the
 * current time in ns. Never waits. Returns true after a migration; the caller then calls odi_forks_published. */
bool odi_forks_ask(odi_forks *victim, odi_steal_request *request, int64_t now);

/* Leaves a request, so that the victim announces its next fork. The caller then executes a heavy fence (F2)
 * and checks once more before it sleeps. */
void odi_forks_want(odi_forks *victim);

/* Whether a victim has forks that a thief could take. Exact after that fence. */
bool odi_forks_hold_work(odi_forks *victim);

/* Makes later forks of the calling thread inherit `around` if other forks lie below; a root reads the context
 * itself. If it returns true, the caller calls odi_forks_strike after joining these forks. */
bool odi_forks_note_around(const odi_around *around);
void odi_forks_strike(void);

/* Runs a stolen fork on the calling thread, which owns `here`. */
void odi_forks_run(odi_forks *here, odi_forks *victim, od_fork_slot *slot);

/* In a forked child: marks the calling thread's forks that other threads were running as lost. */
void odi_forks_lose(odi_forks *forks);

/* steal_fork.c: announces exposed forks; wakes a sleeper if the team has one to spare. */
void odi_forks_published(odi_forks *forks);

/* external.c: the owner has joined its outermost fork. */
void odi_external_leave(odi_forks *forks);

#pragma GCC visibility pop

#endif
