/* peek.h — a snapshot of the pools of a process that neither helps nor stops: read from its memory, without its locks.
 *
 * The reader copies the engine's structures and trusts none of their pointers: each copy goes through the kernel, which
 * refuses an address that is not mapped. The structures change during the reads, so the rows may be of slightly different
 * moments. A process may read itself in this way while a debugger has stopped all of its threads.
 *
 * Owns     its copies.
 * Never    takes a lock, allocates, or writes into the process.
 * Threads  one for each odi_peek.
 */
#ifndef ODI_GATE_PEEK_H
#define ODI_GATE_PEEK_H

#include "gate/queue.h"
#include "observe/page.h"
#include "os/image.h"
#include "worker/worker.h"

#pragma GCC visibility push(hidden)

enum { ODI_PEEK_RUNS = 2048, ODI_PEEK_VERSION = 1 };

typedef struct {
    int process;
    odi_image_block block;
    unsigned skipped; /* rows that could not be read */
    /* The queues of running jobs, and the finished jobs that their records still count. */
    struct {
        uintptr_t queue;
        uint32_t tag, finished;
    } runs[ODI_PEEK_RUNS];
    unsigned run_count;
    od_pool pool;
    odi_worker worker;
    od_queue queue;
    odi_record record;
    odi_site site;
    odi_page_snapshot snapshot;
} odi_peek;

/* Finds the engine of a process. False: why not is in `message`. */
bool odi_peek_begin(odi_peek *peek, int process, char *message, size_t capacity);

/* The same for this process, which needs no search. */
void odi_peek_begin_here(odi_peek *peek);

/* Fills the snapshot. False: the process has ended, or forbids the reads. */
bool odi_peek_fill(odi_peek *peek);

#pragma GCC visibility pop

#endif
