/* od_top.h — a page that shows what the schedulers of a process do, and its reader in another process. */
#ifndef OD_TOP_H
#define OD_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

/* Publishes the page of this process for its user: a thread renews it five times a second, or more seldom if that
 * would take 1 % of a CPU. Returns true if the page is published already. Returns false, with a sentence in `message`,
 * if the system refuses the thread or the memory. A forked child publishes nothing until it calls this. */
bool od_top_publish(char *message, size_t capacity);

/* Ends the page. Returns false if no page was published. */
bool od_top_end(void);

typedef struct od_top_pool {
    char name[16];
    uint64_t executed, stolen, steals, parks;
    uint64_t waiting; /* jobs from external threads that no worker has taken yet */
    uint64_t timers;
    uint64_t late_ns; /* how late the earliest timer is */
    uint32_t workers, active, spares, most_spares;
    uint32_t queues; /* with pending jobs, or suspended */
    uint32_t unused;
} od_top_pool;

typedef struct od_top_worker {
    uint32_t pool, index;
    int32_t thread_id;
    uint32_t doing; /* an od_worker_doing */
    uint64_t running_ns, waiting_ns, executed;
    char queue[48], waits_for[48], waits_at[48];
    uint64_t waiting, at_most_ns, queue_id, waits_at_id; /* as in od_worker_report */
    int32_t node;
    uint32_t unused;
} od_top_worker;

typedef struct od_top_queue {
    uint32_t pool;
    int32_t width;
    uint32_t suspended, active;
    uint64_t pending, running;
    uint64_t busy_ns; /* time since a snapshot found no pending job; no job has waited longer than that and one renewal */
    char label[48];
    uint64_t id;
    uint32_t band, unused;
} od_top_queue;

typedef struct od_top od_top;

typedef struct od_top_view {
    uint64_t taken_ns;
    uint32_t pool_count, worker_count, queue_count; /* at most 16 pools, the newest, 256 of their workers and 128 queues */
    uint32_t all_queues; /* at most 1,024 queues are counted; those with the most pending jobs are in the view */
    const od_top_pool *pools;
    const od_top_worker *workers;
    const od_top_queue *queues;
} od_top_view;

/* Opens another process's page. Returns NULL, with a sentence in `message`, if there is none. */
od_top *od_top_open(int process, char *message, size_t capacity);

/* As od_top_open. If the process publishes no page, each read copies the rows from the process's memory, as far as the
 * kernel allows. The process does nothing for a read, and may be stopped. */
od_top *od_top_peek(int process, char *message, size_t capacity);

/* Reads the last snapshot, which stays until the next call. Returns false, with a sentence in `message`, if the
 * process has ended or writes no snapshots. */
bool od_top_read(od_top *top, od_top_view *view, char *message, size_t capacity);

/* Frees the reader. */
void od_top_close(od_top *top);

OD_END_DECLS

#endif
