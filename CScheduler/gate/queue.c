#include "gate/line.h"

#include <stdlib.h>

#include "gate/override.h"
#include "job/group.h"

odi_arena odi_queues = ODI_ARENA_FOR(od_queue);

bool odi_queue_has_more(od_queue *queue)
{
    odi_queue_more *more = queue->more == NULL ? malloc(sizeof *more) : NULL;

    if (more != NULL) {
        *more = (odi_queue_more){0};
        queue->more = more;
    }
    return queue->more != NULL;
}

void odi_queue_free(void **part)
{
    void *freed = *part;

    *part = NULL;
    odi_fence_compiler();
    free(freed);
}

/* ---- records ---- */

void odi_queue_close_current(od_queue *queue)
{
    for (uint32_t each = 0; each < ODI_KEYS; each++)
        (void)odi_or_relaxed(&queue->current[each], ODI_CURRENT_NONE); /* relaxed: who sees it takes the lock */
}

void odi_queue_put_in_front(od_queue *queue, odi_record *record)
{
    record->next_of_queue = queue->records;
    record->link_of_queue = &queue->records;
    if (record->next_of_queue != NULL)
        record->next_of_queue->link_of_queue = &record->next_of_queue;
    queue->records = record;
}

void odi_queue_take_off(odi_record *record)
{
    *record->link_of_queue = record->next_of_queue;
    if (record->next_of_queue != NULL)
        record->next_of_queue->link_of_queue = record->link_of_queue;
    record->link_of_queue = NULL;
}

/* Takes a record of the chain off it if it is orphaned and empty, or empty and the queue is
 * over. Lock held. False: it has begun a new generation, or is not yet to go; whoever drains it comes
 * again. */
static bool take_off_if_dead(od_queue *queue, odi_record *record, bool over)
{
    uint64_t counts;

    /* relaxed: a new generation begins with other flags under this very lock */
    if (!(over || odi_load_relaxed(&record->flags) & ODI_RECORD_ORPHANED))
        return false;
    /* relaxed: whoever drains a watched record comes here again. There may be thousands. */
    counts = odi_load_relaxed(&record->counts);
    if (counts & ODI_COUNTS_WATCHED && odi_counts_outstanding(counts) > 0)
        return false;
    /* The watch comes before the look, so that the last job calls when this look is early. Closed with the very look: a
     * count that comes before it keeps the record what it is, and one that comes after it is none. L5: acquire, so that
     * none of the fields that it gets for another queue or group is seen by a count that comes before. */
    counts = odi_or_acqrel(&record->counts, ODI_COUNTS_WATCHED | ODI_COUNTS_CLOSED, L5);
    if (odi_counts_outstanding(counts) > 0)
        return false;
    if (queue->before == record)
        queue->before = record->next_of_queue;
    odi_queue_take_off(record);
    odi_store_relaxed(&record->queue, NULL); /* relaxed: asked under the lock, or after a count */
    return true;
}

void odi_queue_reap_record(od_queue *queue, odi_record *record)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed: written under this lock when it is ours. L8: its group has done with it. */
    bool dead = odi_load_relaxed(&record->queue) == queue &&
                odi_load_acquire(&record->group, L8) == NULL &&
                take_off_if_dead(queue, record, false);
    odi_lock_release(&queue->watch.lock);
    if (dead)
        odi_record_free(record);
}

/* ---- the end ---- */

/* Whether nothing is left that could touch a released queue. Lock held. */
static bool is_over(od_queue *queue)
{
    if (!queue->released || queue->gate.held > 0 || queue->children > 0 ||
        odi_queue_has_passes(queue) || !odi_queue_is_clear(queue) ||
        queue->watch.notifications != NULL) /* who owes these comes here again */
        return false;
    odi_set set = odi_queue_set(queue);

    return odi_set_is_empty(&set, true);
}

/* Takes the records of a queue that is over off the chain. Lock held. */
static odi_record *take_dead(od_queue *queue)
{
    odi_record *dead = NULL, *next;

    for (odi_record *record = queue->records; record != NULL; record = next) {
        next = record->next_of_queue;
        if (take_off_if_dead(queue, record, true)) {
            record->next_of_queue = dead;
            dead = record;
        }
    }
    return dead;
}

void odi_queue_reap(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool over = is_over(queue);
    odi_record *dead = over ? take_dead(queue) : NULL;
    over = over && queue->records == NULL;
    if (over) {
        queue->released = false; /* whoever comes late finds nothing to do */
        odi_fifo_free(&queue->line);
        odi_fifo_free(&queue->early);
        odi_fifo_free(&queue->inbox.fifo);
        odi_queue_free((void **)&queue->batches);
        odi_queue_free((void **)&queue->more);
    }
    odi_lock_release(&queue->watch.lock);

    while (dead != NULL) {
        odi_record *next = dead->next_of_queue;
        odi_group *group = odi_load_acquire(&dead->group, L8);

        if (group != NULL) /* a count that came too late, and had it watched, knows the group */
            odi_group_forget(group, dead);
        odi_record_free(dead);
        dead = next;
    }
    if (over) {
        od_queue *target = odi_target_gate(queue);

        odi_arena_give(&odi_queues, queue);
        if (target != NULL)
            odi_queue_forget_child(target);
    }
}

void odi_queue_forget_child(od_queue *target)
{
    odi_lock_acquire(&target->watch.lock);
    target->children--;
    odi_lock_release(&target->watch.lock);
    odi_queue_reap(target);
}
