/* od_report.h — what a pool does at a moment: its workers, and the queues that hold work.
 *
 * A report is a look, not a stop: what it says was true while it was made. Any thread may ask.
 */
#ifndef OD_REPORT_H
#define OD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "od_queue.h"

OD_BEGIN_DECLS

typedef enum od_worker_doing {
    OD_WORKER_IDLE = 0,   /* it looks for work, or sleeps */
    OD_WORKER_RUNS = 1,   /* it runs a job */
    OD_WORKER_BLOCKS = 2, /* its job has said that it waits; another worker has its place */
    OD_WORKER_SPARE = 3   /* one more than may run now */
} od_worker_doing;

typedef struct od_worker_report {
    int index;
    int thread_id;
    int node; /* the kernel's number */
    od_worker_doing doing;
    int64_t running_ns;         /* how long its job has run, at least */
    int64_t running_at_most_ns; /* and at most: as much, where that is known */
    int64_t waiting_ns;         /* how long it has waited, where it says so */
    const char *waits_for;      /* "in sync on", "for a group" …: static, or NULL: it does not say */
    char waits_at[OD_LABEL_BYTES]; /* the label of the queue that this names, "" for none */
    char queue[OD_LABEL_BYTES]; /* the label of its job's queue, "" for none */
    uintptr_t waits_at_id;      /* which queues these are: */
    uintptr_t queue_id;         /* labels may be alike */
    uint64_t executed;          /* jobs, over the worker's life */
    uint64_t waiting;           /* jobs in its own deques */
} od_worker_report;

/* Fills in at most `room` reports; returns how many. */
int od_pool_report_workers(od_pool *pool, od_worker_report *reports, int room);

/* Jobs that came from outside and no worker has taken yet. */
uint64_t od_pool_waiting(od_pool *pool);

typedef struct od_queue_report {
    char label[OD_LABEL_BYTES];
    uintptr_t id; /* which queue this is */
    od_band band;
    int32_t width; /* OD_UNLIMITED or more */
    bool suspended, active;
    uint64_t pending; /* submitted and not done */
    uint64_t running; /* of these, begun */
} od_queue_report;

/* The queues of the pool that have jobs pending, are suspended or are not active yet. Fills in at most `room`;
 * returns how many there are. */
int od_pool_report_queues(od_pool *pool, od_queue_report *reports, int room);

/* Tells `take` the engine's warnings, one sentence each without a line's end, in place of writing them to
 * stderr; NULL: stderr again. They come on any thread, some on the pool's own, at any time, with a stack
 * of 256 KiB at least: `take` waits for nothing of the pool, frees no pool and waits for nobody who does, and
 * what it uses is there before this is called. What ends the process is still written to stderr. */
void od_warnings_to(void (*take)(const char *sentence));

OD_END_DECLS
#endif
