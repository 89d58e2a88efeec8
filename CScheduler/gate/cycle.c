#include "gate/cycle.h"

#include "gate/current.h"

#include <stdio.h>

#include "sleep/lock.h"

static odi_lock waits_lock;
static odi_sync_wait *waits;

enum { SENTENCE_BYTES = 1024 };

/* Who holds the serial queue's place and waits, or NULL: whoever holds it goes on. Lock held. */
static odi_sync_wait *holder_of(od_queue *queue)
{
    odi_sync_wait *wait = waits;

    if (od_queue_width(queue) != 1)
        return NULL;
    while (wait != NULL && !odi_scopes_hold(wait->scopes, queue))
        wait = wait->after;
    return wait;
}

/* Whether the waits lead from `mine` back to it. Lock held. */
static bool is_cycle(odi_sync_wait *mine)
{
    odi_sync_wait *wait = mine;
    size_t steps = 0, listed = 0;

    for (odi_sync_wait *each = waits; each != NULL; each = each->after)
        listed++;
    do {
        wait = holder_of(wait->wanted);
    } while (wait != NULL && wait != mine && ++steps < listed);
    return wait == mine;
}

/* Returns, with the lock held, if a queue was widened meanwhile: then there is no circle. Lock held. */
ODI_COLD static void report(odi_sync_wait *mine)
{
    char sentence[SENTENCE_BYTES] = "";
    odi_sync_wait *wait;
    int length = 0;

    for (od_queue *wanted = mine->wanted; (wait = holder_of(wanted)) != mine; wanted = wait->wanted) {
        if (wait == NULL)
            return;
        length += snprintf(sentence + length, sizeof sentence - (size_t)length, "%s\"%s\"",
                           length > 0 ? ", which waits for " : "", wait->wanted->label);
        if (length >= (int)sizeof sentence)
            break;
    }
    odi_lock_release(&waits_lock);
    odi_trap("TaskQueue.sync: a circle of serial queues (\"%s\" waits for %s, which runs the caller). "
             "Use async in one of them.", mine->wanted->label, sentence);
}

void odi_cycle_enter(odi_sync_wait *wait, od_queue *wanted)
{
    odi_lock_acquire(&waits_lock);
    *wait = (odi_sync_wait){wanted, odi_scopes, waits};
    waits = wait;
    if (is_cycle(wait))
        report(wait);
    odi_lock_release(&waits_lock);
}

void odi_cycle_leave(odi_sync_wait *wait)
{
    odi_lock_acquire(&waits_lock);
    odi_sync_wait **link = &waits;
    while (*link != wait)
        link = &(*link)->after;
    *link = wait->after;
    odi_lock_release(&waits_lock);
}

void odi_cycles_forked(void)
{
    waits_lock = (odi_lock){0};
    waits = NULL;
}
