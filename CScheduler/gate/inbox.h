/* inbox.h — the inbox of a wait queue: a fifo with its own lock, so that submitters and drainers rarely
 * contend.
 *
 * Submitters push here while a drainer works, or while none may. When the wait queue is empty, its drainer
 * exchanges its empty fifo for the inbox's.
 *
 * `wants` saves submitters the queue's lock while enough drainers work, or none may. It is false only if some
 * thread will check the inbox again under that lock. It becomes true only when the inbox is empty, which the
 * inbox's lock protects. A submitter that reads true uses the wait queue instead: one lock, not two.
 *
 * Edges    Q2  push -> settle   release/acquire   a thread that sees waiting jobs, and lets others skip
 *                                               the queue's lock, comes after the submitters' reads
 *
 * Never knows permits, suspensions or wait nodes. The inbox's lock is acquired inside the queue's lock.
 * Fields written under both locks may be read under either.
 */
#ifndef ODI_GATE_INBOX_H
#define ODI_GATE_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "queue/fifo.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

/* One cache line. A submitter keeps it while the drainer has jobs, so no word that drainers access for each
 * job belongs here. */
typedef struct {
    odi_lock lock;
    odi_atomic(uint32_t) waiting; /* entries of the fifo: a hint, exact under the lock */
    odi_fifo fifo;
    odi_atomic(bool) wants; /* after a push, check for a needed drainer; becomes true under both locks */
    odi_atomic(bool) diverted; /* jobs pass through the wait queue; written under both locks */
} odi_inbox;

_Static_assert(sizeof(odi_inbox) <= ODI_CACHE_LINE, "an inbox is one cache line");

/* Pushes an entry under the inbox's lock. Returns false if an allocation fails and there is no node. */
static inline bool odi_inbox_push(odi_inbox *inbox, odi_entry entry, odi_entry_node *node)
{
    if (ODI_UNLIKELY(!odi_fifo_push(&inbox->fifo, entry, node)))
        return false;
    odi_store_release(&inbox->waiting, (uint32_t)inbox->fifo.count, Q2);
    return true;
}

/* Pushes an entry and takes the inbox's lock. */
static inline bool odi_inbox_add(odi_inbox *inbox, odi_entry entry, odi_entry_node *node)
{
    odi_lock_acquire(&inbox->lock);
    bool pushed = odi_inbox_push(inbox, entry, node);
    odi_lock_release(&inbox->lock);
    return pushed;
}

/* Returns a lower bound of the waiting entries, without contention for the inbox's lock. Under the queue's
 * lock. */
static inline uint32_t odi_inbox_waiting(odi_inbox *inbox)
{
    return odi_load_acquire(&inbox->waiting, Q2);
}

/* Exchanges the inbox's fifo for an empty one. Returns false if it was empty. Under the queue's lock. */
static inline bool odi_inbox_empty_into(odi_inbox *inbox, odi_fifo *fifo)
{
    odi_fifo empty = *fifo;

    /* relaxed: rechecked, because a later push requests a check through `wants` */
    if (odi_load_relaxed(&inbox->waiting) == 0)
        return false;
    odi_lock_acquire(&inbox->lock);
    *fifo = inbox->fifo;
    inbox->fifo = empty;
    odi_store_relaxed(&inbox->waiting, 0); /* relaxed: locked */
    odi_lock_release(&inbox->lock);
    return true;
}

#pragma GCC visibility pop

#endif
