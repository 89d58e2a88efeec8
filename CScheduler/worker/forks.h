/* forks.h — a thread's forks: a private part that costs its owner nothing, and a shared part
 * that thieves take from.
 *
 *     slots    0 … tail … split … head        tail, split: one word; head: the owner's
 *              taken  shared  private
 *
 * The owner forks and joins at `head`. Thieves take the oldest shared fork by a
 * compare-and-swap on the word, and read the slot only after it. `limit` decides whether the
 * owner's fast path holds:
 *
 *     address of slots[split]   forks are private from here on; a join below goes slow
 *     ASKED      somebody wants more; nothing is private that anybody waits for. Also the
 *                state of an empty stack, so that every root's fork goes the slow way, where
 *                it is exposed and sleepers are woken. A request stands until it can be met.
 *     CLAIMED    a thief moves the split itself
 *     OPEN       as the address, where membarrier is refused: every fork and join goes slow
 *
 *     normal -> ASKED     a thief, also one that goes to sleep; or the owner, when empty
 *     ASKED -> normal     the owner, having exposed half of what is private
 *     ASKED -> CLAIMED    a thief whose request was not met for 20 µs: the owner is in a long
 *                         branch, or blocked
 *     CLAIMED -> normal   that thief, having exposed everything; -> ASKED: there was nothing
 *
 * Migration is safe because the owner writes `head` before it reads `limit`, and the thief
 * writes CLAIMED, issues a heavy fence, and then reads `head` (F2): a pop that missed the
 * claim has lowered the head which the thief reads, and a pop that sees it waits for the end.
 * While CLAIMED stands the owner touches neither word nor limit. Where membarrier is refused
 * `limit` is OPEN where it would be an address: the slow way has a real fence.
 *
 * A slot's `state`: 0 -> DONE (thief) | GIVEN_BACK (a thief that must not run it; the owner
 * does) -> 0 (owner). 0 -> PARKED (owner, about to sleep) -> DONE | GIVEN_BACK, which ring.
 *
 * -> LOST (the parent's, in a forked child): the join traps.
 *
 * A joiner whose fork was taken takes forks back from that thief (leapfrogging): while the
 * thief is at it, all that it has to give are descendants of the joined fork, because a thread
 * steals only with nothing of its own left to give. If the thief was done meanwhile, what was
 * won may be a stranger's: it is given back. So a join runs nothing but its own descendants,
 * and a thread's stack never holds more than one path of the tree of forks, each frame at most
 * twice.
 *
 * Threads  fork, pop, join: the owner. Everything else: any thief. An odi_forks is never
 *          unmapped while its team lives.
 *
 * Edges    F1  fork -> steal          release/acquire     the slot's words are readable
 *          F2  fork, pop <-> claim    light/heavy fence   the owner sees the claim (or the
 *                                                         sleeper's request), or the other
 *                                                         side its head
 *          F3  migrate -> owner       release/acquire     the word is the owner's again
 *          F4  thief <-> joiner       release/acquire     what it wrote, or who sleeps for it
 *          F5  ring -> sleeping joiner release/acquire    why it was woken
 *          F8  expose -> steal        release/acquire     the slot's words, by the split
 *          F9  note -> steal          release/acquire     the notes of what the thread runs
 *          F10 thief -> joiner        release/acquire     who runs the slot
 *
 * How the waits end: a claim by the claimer, a few instructions and one membarrier on. A join
 * by the thief's end of the branch, or by its giving back; while it sleeps it has a request
 * standing with its thief, and whoever meets that rings. (Of two joiners that sleep on one thief
 * the later one has; the other sleeps to its end, and a worker that looks for forks takes what there is.)
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
#define OD_FORK_LOAD(place) odi_load_relaxed(place) /* relaxed: owner's, or F2's fence before */
#define OD_FORK_PUBLISH(place, value) odi_store_release((place), (value), F1)
#define OD_FORK_BARRIER() odi_fence_light(F2)
#include "include/od_external.h"

#pragma GCC visibility push(hidden)

typedef struct odi_team odi_team;
typedef struct odi_worker odi_worker;
typedef struct odi_forks odi_forks;

#define ODI_FORKS_ASKED UINTPTR_MAX
#define ODI_FORKS_CLAIMED (UINTPTR_MAX - 1)
#define ODI_FORKS_OPEN (UINTPTR_MAX - 2) /* below od_fork_wanted's */

/* The surroundings of a job: scopes in queues, jobs outside of a run and the record of the run, innermost first. */
typedef struct odi_around {
    const struct od_scope *scopes;
    const struct odi_outside *outsides;
    struct odi_record *record;
    const struct odi_descent *descent;
} odi_around;

/* A stolen branch is in what its fork was in, and not in what its thread was in when the branch began: walks that
 * reach `scopes` and `outsides` go on at `from`. All of it outlives the branch. */
typedef struct odi_descent {
    const struct od_scope *scopes;
    const struct odi_outside *outsides;
    odi_around from;
} odi_descent;

/* Work that the thread has begun above some of its forks: those from `place` on are its. Read like an
 * array that only grows: what a thief's slot lies above stays until that slot is joined. */
typedef struct {
    odi_atomic(uint32_t) place;
    odi_atomic(void *) work;
    odi_around around;
} odi_forks_note;

/* So many at most at once; work that is nested deeper is not noted, and its forks inherit the last that
 * is. Address space: what is not used is not touched. */
enum { ODI_FORKS_NOTES = 32768 };

enum { ODI_FORK_PARKED = 1, ODI_FORK_DONE = 2, ODI_FORK_GIVEN_BACK = 3, ODI_FORK_LOST = 4 };

struct odi_forks {
    od_forks owner; /* first: od_forks_self points here */
    od_fork_slot *slots;
    size_t bytes;        /* of the slots */
    odi_atomic(void *) work; /* the root's (od_fork_root_work); the notes have what began above it */
    odi_around around;   /* what the root was forked in, likewise */
    uint32_t depth;      /* forks and scopes under way, where nobody may take them; else the roots that
                            their owner runs itself */
    odi_team *team;      /* NULL: nobody may take them */
    odi_worker *worker;  /* NULL: an external thread */
    bool leaves_at_root; /* an external thread that came by forking */
    bool in_worker;      /* part of a worker's memory, also where an external thread has it: see odi_external_begin_as */

    ODI_PAIR_ALIGNED odi_atomic(uint64_t) word; /* split (32) | tail (32) */
    odi_atomic(uint32_t) taken;                 /* an external thread's place: see external.h */
    odi_atomic(bool) says_blocking;             /* an external thread between blocking_begin and _end */
    uint32_t blocking_depth;                    /* the external thread's */
    pthread_t thread;                           /* whose stack it is; a worker's that has left: whose it was */
    odi_atomic(struct odi_forks *) asker;       /* a sleeping joiner that wants more */
    odi_atomic(uint32_t) wakeup;                /* what the owner sleeps on in a join */
    odi_atomic(uint32_t) note_count;
    odi_forks_note *notes;                      /* NULL: there is no memory for them */
    odi_counter stolen;                         /* forks of others that this thread ran */
};

/* A thief's notes on whom it has asked. */
typedef struct {
    odi_forks *asked;
    int64_t asked_ns, again_ns;
} odi_steal_request;

/* Reserves address space for the slots: as much as a stack of `stack_bytes` could fork, or
 * less. False: there is none. */
bool odi_forks_make(odi_forks *forks, odi_team *team, odi_worker *worker, size_t stack_bytes);
void odi_forks_free(odi_forks *forks);

/* Takes the oldest shared fork. NULL: there is none. */
od_fork_slot *odi_forks_steal(odi_forks *victim);

/* Asks a victim that has nothing shared for more; later, if it has not answered, takes it.
 * `now` is the clock. Never waits. True: it has taken it, and odi_forks_published follows. */
bool odi_forks_ask(odi_forks *victim, odi_steal_request *request, int64_t now);

/* Leaves a standing request, so that the victim's next fork is announced. The caller then
 * puts a heavy fence (F2) and looks once more before it sleeps. */
void odi_forks_want(odi_forks *victim);

/* Whether a victim has forks that a thief could come by. Exact after that fence. */
bool odi_forks_hold_work(odi_forks *victim);

/* Has the calling thread's forks from here on inherit `around`, if others are below them; a root reads it itself.
 * True: odi_forks_strike follows, when these forks are joined. */
bool odi_forks_note_around(const odi_around *around);
void odi_forks_strike(void);

/* Runs a stolen fork on the calling thread, whose forks `here` are. */
void odi_forks_run(odi_forks *here, odi_forks *victim, od_fork_slot *slot);

/* In a forked child: of the calling thread's forks, those that others were running are lost. */
void odi_forks_lose(odi_forks *forks);

/* steal_fork.c: forks were exposed; wakes a sleeper if there is one to spare. */
void odi_forks_published(odi_forks *forks);

/* external.c: the owner's outermost fork is joined. */
void odi_external_leave(odi_forks *forks);

#pragma GCC visibility pop

#endif
