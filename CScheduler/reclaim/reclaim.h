/* reclaim.h — when memory that others may still be reading can be freed.
 *
 * Read-copy-update through liburcu's `memb` flavour, which lives here and nowhere else.
 *
 * Owns     the list of retired objects and the one thread that waits for grace periods. The
 *          thread starts when the first object is retired and goes when the list is empty.
 * Never    waits on behalf of a caller: retire only links the object. A reader that never
 *          ends delays frees, nothing else; who retires again and again asks odi_reclaim_is_behind.
 * Threads  read_begin/read_end: threads between reader_join and reader_leave; they nest.
 *          retire: anyone.
 * Fork     a forked child never calls liburcu again (it would wait for threads that are
 *          gone): it keeps what it retires.
 *
 * Edges    R1  retire -> reclaimer            release/acquire  the object's fields
 *          R2  read_end -> reclaimer's free   a grace period   the reader's reads are over
 *          R3  retire <-> reclaimer's leaving the retirer starts a thread, or the reclaimer
 *              sees the object; never neither (one word, read-modify-writes)
 *          R4  reclaimer -> drain             release/acquire  a batch is freed, by the count
 *          R5  reclaimer -> drain             release/acquire  all are freed, by the empty list
 */
#ifndef ODI_RECLAIM_RECLAIM_H
#define ODI_RECLAIM_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct odi_retired odi_retired;
typedef void odi_destroy(odi_retired *retired);

/* Embedded in what is retired, so that retiring never allocates. */
struct odi_retired {
    odi_retired *next;
    odi_destroy *destroy;
};

/* Registers the calling thread as a reader, and takes it off the list again. Pairs nest. */
void odi_reader_join(void);
void odi_reader_leave(void);

/* What is reachable inside stays readable until the matching end. No waiting inside. */
void odi_read_begin(void);
void odi_read_end(void);

/* Calls destroy(retired) on another thread once every read section that is open now has
 * ended. The object must be unreachable for new readers already. */
void odi_retire(odi_retired *retired, odi_destroy *destroy);

/* So much is retired and not freed that who can keep what he would retire keeps it; in a forked child always. */
bool odi_reclaim_is_behind(void);

/* Waits until a moment at which everything retired before is freed, and what was retired
 * meanwhile too. Not inside a read section. For the end of
 * a pool and for tests. Ended by: the reclaimer. */
void odi_reclaim_drain(void);

/* Grace periods so far, over the life of the process. */
uint64_t odi_reclaim_grace_periods(void);

/* In a forked child, before anything else: liburcu is out of bounds from here on. */
void odi_reclaim_forked(void);

#pragma GCC visibility pop

#endif
