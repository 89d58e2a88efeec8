/* world.h — a program that runs: its pool, and the ledger of what was submitted and what became of it. */
#ifndef RANDOM_WORLD_H
#define RANDOM_WORLD_H

#include <stdatomic.h>

#include "Random/program.h"
#include "Random/shared.h"
#include "include/od_semaphore.h"
#include "include/od_timer.h"

/* One for each operation. Tickets are drawn from one counter: what was submitted wholly before something
 * else has a smaller `after` than that one's `before`. */
typedef struct entry {
    atomic_ullong before, after; /* 0: not yet */
    atomic_uint began, ran, ended, discarded, refused;
    atomic_int acting;           /* threads that are in the operation */
    atomic_bool open;            /* a suspended section */
    atomic_bool may_not_run;     /* who waited for it has gone on */
    atomic_bool skipped;         /* an item that is cancelled */
    int section;                 /* it was submitted in; NONE */
    /* Timers. */
    _Atomic(od_timer *) timer;
    atomic_uint calls, over, inside;
    atomic_bool barred; /* cancelled */
    int64_t due;
    /* Waits of its own. */
    od_semaphore *semaphore;
    _Atomic(od_group *) group;
    uint64_t awaited[OPS / 64]; /* by a notification */
    atomic_uint told;
} entry;

typedef struct queue_state {
    od_queue *queue;
    atomic_int running;  /* places that are taken and not earmarked */
    atomic_int holders;  /* those that are earmarked, too */
    atomic_int barrier;
    atomic_ullong newest, newest_barrier; /* the greatest `before` of those that have begun */
    atomic_ullong cancelled;
} queue_state;

typedef struct world {
    program program;
    od_pool *pool;
    queue_state queue[QUEUES];
    od_group *group[GROUPS];
    atomic_uint uses[GROUPS];
    od_semaphore *semaphore[SEMAPHORES];
    entry entry[OPS];
    atomic_ullong tickets;
    atomic_ullong runs;  /* closures and calls of timers that have ended */
    atomic_int inside;   /* closures that run */
    atomic_bool stopping;
    atomic_bool hurried; /* by a deadline */
} world;

extern world w;

static inline unsigned long long ticket(void)
{
    return atomic_fetch_add(&w.tickets, 1) + 1;
}

/* ---- what a thread is doing ---- */

/* A closure or a sync call, on what it is on top of. */
typedef struct frame {
    struct frame *outer;
    uint32_t held; /* queues, those of `outer` too where it is inside of these */
} frame;

typedef enum waiting { NOTHING, FOR_GROUP, FOR_QUEUE, FOR_ELSE } waiting;

typedef struct thread {
    frame *top;
    bool outsider;
    int submitting; /* an operation, or NONE */
    int section;
    bool counted; /* among the jobs that wait */
    waiting waiting;
    od_group *group; /* waited for */
    int queue;
} thread;

extern _Thread_local thread self;

/* A wait begins and ends: which of a thread's closures may run meanwhile. */
thread waits(waiting what, od_group *group, int queue);
void waited(thread before);

/* The job that this thread runs waits from here on, or does so no more. */
void count_waiting(bool waits);

/* ---- oracle.c ---- */

/* A closure of the operation begins on this thread, and ends. False: its item was cancelled. */
typedef struct began {
    frame frame;
    thread before;
    uint32_t entered; /* queues */
} began;
void closure_begins(began *it, int op);
void closure_ends(began *it, int op);

/* Around od_queue_sync_begin and before od_queue_sync_end. */
typedef struct synced {
    frame frame;
    uint32_t entered, overridden;
    unsigned long long before;
    thread waiter;
} synced;
void sync_waits(synced *it, const op *of);
void sync_begins(synced *it, const op *of);
void sync_ends(synced *it, const op *of);

/* Which queues the thread is in, as the engine says. */
void check_context(uint32_t held, const char *where, int op);

/* What has to be over when a wait for the group, or the queue, is. */
void awaited_begin(uint64_t awaited[OPS / 64], int group, int queue, od_group *own);
void awaited_end(const uint64_t awaited[OPS / 64], const char *what, int op);

/* Counts at the end of the program. */
void check_ledger(const od_stop_report *report);

/* ---- actions.c, run.c ---- */
void run_body(int first);
void closure_main(void *entry);
void run_program(const program *it);

/* Where everybody is, to stderr: for a program that does not go on. */
void dump_world(void);

#endif
