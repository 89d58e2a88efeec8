/* page.h — the page that a process publishes for `overdrive top`: what its pools do, five times a second.
 *
 * A thread that exists only while the page is published asks the layer above for a snapshot and writes it into shared
 * memory. The thread rests a hundred times as long as the snapshot took.
 *
 * The page is a sealed memfd instead of a file: it disappears with the process, so no page is stale, and the kernel checks
 * the reader's user through /proc. Queues store no times, so a queue's latency is bounded by the time since a snapshot
 * found it empty. With 4.9 million closures a second, published rounds took 0.99 times as long as unpublished ones.
 *
 * States   OFF -> ON    odi_page_publish, under the lock
 *          ON -> OFF    odi_page_end, the process's exit; in a forked child, whose page is the parent's
 *
 * Owns     the page and its thread.
 * Never    knows pools; the function that fills the snapshot does.
 * Threads  any; not under a lock.
 *
 * How an end's wait ends: by the thread, after its last snapshot. The thread's: by its interval or by an end.
 */
#ifndef ODI_OBSERVE_PAGE_H
#define ODI_OBSERVE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/od_top.h"
#include "observe/page_words.h"

#pragma GCC visibility push(hidden)

enum { ODI_PAGE_POOLS = 16, ODI_PAGE_WORKERS = 256, ODI_PAGE_QUEUES = 128, ODI_PAGE_VERSION = 2 };
#define ODI_PAGE_NAME "overdrive-top"
#define ODI_PAGE_MAGIC UINT64_C(0x706f742d6472766f) /* "ovrd-top" */

typedef struct {
    uint64_t taken_ns;
    uint32_t pool_count, worker_count, queue_count, all_queues;
    od_top_pool pools[ODI_PAGE_POOLS];
    od_top_worker workers[ODI_PAGE_WORKERS];
    od_top_queue queues[ODI_PAGE_QUEUES];
} odi_page_snapshot;

enum { ODI_PAGE_WORDS = sizeof(odi_page_snapshot) / sizeof(uint64_t) };
_Static_assert(sizeof(odi_page_snapshot) % sizeof(uint64_t) == 0, "a snapshot is whole words");

typedef struct {
    uint64_t magic;
    uint32_t version, bytes;
    int64_t process;
    uint64_t started; /* when the process has started: a number may be reused */
    odi_page_word sequence;
    odi_page_word words[ODI_PAGE_WORDS];
} odi_page;

/* Registered by the layer above. Fills a snapshot of zeros. */
extern void (*odi_page_fill_above)(odi_page_snapshot *snapshot);

/* False: why not is in `message`. True if it is published already. */
bool odi_page_publish(char *message, size_t capacity);

/* Returns once no thread writes the page. False: there was none. */
bool odi_page_end(void);

/* As OVERDRIVE_TOP says, once in a process. */
void odi_page_from_environment(void);

#pragma GCC visibility pop

#endif
