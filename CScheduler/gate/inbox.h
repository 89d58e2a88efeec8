/* inbox.h — where a line's submissions arrive: a fifo under a lock of its own, so that who
 * submits and who drains meet once in many jobs.
 *
 * Submitters push here while a drainer is at work, or none may be; when the line has nothing left, its drainer takes the whole fifo in
 * exchange for the line's empty one.
 *
 * `wants` spares the submitter the queue's lock while drainers enough are at work, or none
 * may: it is false only where somebody will look at the inbox again under that lock. It turns true
 * where nothing waits, which the inbox's lock alone can tell. Who finds it true goes to the line instead,
 * which is the queue's lock once and not the inbox's as well, by both sides.
 *
 * Edges    Q2  push -> settle   release/acquire   who sees that something waits, and lets others skip the queue's
 *                                               lock for that, comes after what they looked at before
 *
 * Never    knows places, suspensions or wait nodes.
 * Locks    its own, inside the queue's. What is written under both may be read under either.
 */
#ifndef ODI_GATE_INBOX_H
#define ODI_GATE_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "queue/fifo.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

/* One cache line, which a submitter keeps as long as the drainer has enough: nothing that a
 * drainer writes or looks at with each job belongs into it. */
typedef struct {
    odi_lock lock;
    odi_atomic(uint32_t) waiting; /* what the fifo holds: a hint, exact under the lock */
    odi_fifo fifo;
    odi_atomic(bool) wants; /* after a push, see whether to start a drainer; turns true under both locks */
    odi_atomic(bool) diverted; /* jobs pass through the line; written under both locks */
} odi_inbox;

_Static_assert(sizeof(odi_inbox) <= ODI_CACHE_LINE, "an inbox is one cache line");

/* Under the inbox's lock. False: memory is short, and there is no node. */
static inline bool odi_inbox_push(odi_inbox *inbox, odi_entry entry, odi_entry_node *node)
{
    if (ODI_UNLIKELY(!odi_fifo_push(&inbox->fifo, entry, node)))
        return false;
    odi_store_release(&inbox->waiting, (uint32_t)inbox->fifo.count, Q2);
    return true;
}

/* The same for who has not the lock. */
static inline bool odi_inbox_add(odi_inbox *inbox, odi_entry entry, odi_entry_node *node)
{
    odi_lock_acquire(&inbox->lock);
    bool pushed = odi_inbox_push(inbox, entry, node);
    odi_lock_release(&inbox->lock);
    return pushed;
}

/* So many wait at least: who looks here leaves the lock to those that push. Under the queue's lock. */
static inline uint32_t odi_inbox_waiting(odi_inbox *inbox)
{
    return odi_load_acquire(&inbox->waiting, Q2);
}

/* Exchanges the inbox's fifo for an empty one. Under the queue's lock. False: it was empty. */
static inline bool odi_inbox_empty_into(odi_inbox *inbox, odi_fifo *fifo)
{
    odi_fifo empty = *fifo;

    /* relaxed: who pushes after this look sees to it that somebody looks again (`wants`) */
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
