/* reclaim.h — deferred freeing of memory that other threads may still read.
 *
 * It uses read-copy-update through liburcu's `memb` flavour, which no other folder includes.
 *
 * Owns     the list of retired objects and one thread that waits for grace periods. The thread
 *          starts at the first retirement and exits when the list is empty.
 * Never    makes a caller wait: retire only links the object. A reader that never ends delays
 *          frees only; a caller that retires repeatedly checks odi_reclaim_is_behind.
 * Threads  read_begin/read_end: threads between reader_join and reader_leave; they nest.
 *          retire: any thread.
 * Fork     a forked child never calls liburcu, which would wait for threads that no longer
 *          exist. The child does not free retired objects.
 *
 * Edges    R1  retire -> reclaimer            release/acquire  the object's fields
 *          R2  read_end -> reclaimer's free   a grace period   the reader's reads have finished
 *          R3  retire <-> reclaimer's leaving the retirer starts a thread, or the reclaimer
 *              sees the object; never neither (one word, read-modify-writes)
 *          R4  reclaimer -> drain             release/acquire  the count shows a freed batch
 *          R5  reclaimer -> drain             release/acquire  the empty list shows that all are freed
 */
#ifndef ODI_RECLAIM_RECLAIM_H
#define ODI_RECLAIM_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct odi_retired odi_retired;
typedef void odi_destroy(odi_retired *retired);

/* Embedded in a retired object, so that a retirement never allocates. */
struct odi_retired {
    odi_retired *next;
    odi_destroy *destroy;
};

/* Registers the calling thread as a reader, and unregisters it. Pairs nest. */
void odi_reader_join(void);
void odi_reader_leave(void);

/* Objects reachable in a read section stay readable until its end. A thread must not wait inside. */
void odi_read_begin(void);
void odi_read_end(void);

/* Calls destroy(retired) on another thread after every read section that is open now has ended. New readers
 * must not be able to reach the object. */
void odi_retire(odi_retired *retired, odi_destroy *destroy);

/* Whether so many objects wait to be freed that a caller should keep an object instead of retiring it. Always
 * true in a forked child. */
bool odi_reclaim_is_behind(void);

/* Waits until every object retired so far is freed, including objects retired during the call. Not inside a
 * read section. For the end of a pool and for tests. The reclaimer ends the wait. */
void odi_reclaim_drain(void);

/* Returns the number of grace periods over the life of the process. */
uint64_t odi_reclaim_grace_periods(void);

/* Call first in a forked child: liburcu is never called from here on. */
void odi_reclaim_forked(void);

#pragma GCC visibility pop

#endif
