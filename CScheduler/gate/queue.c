/* queue.c — a queue's list of records and the end of a queue's life. Other files of this folder call it. It
 * never takes jobs from the wait queue. */
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
        (void)odi_or_relaxed(&queue->current[each], ODI_CURRENT_NONE); /* relaxed: readers then lock */
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

/* Removes a record from the list if it is orphaned and empty, or empty and the queue is finished. Lock held.
 * Returns false if the record has begun a new generation or must stay; the thread that empties it comes here
 * again. */
static bool take_off_if_dead(od_queue *queue, odi_record *record, bool over)
{
    uint64_t counts;

    /* relaxed: a new generation begins with other flags under this lock */
    if (!(over || odi_load_relaxed(&record->flags) & ODI_RECORD_ORPHANED))
        return false;
    /* relaxed: the thread that empties a watched record comes here again. Saves work, because there may be
     * thousands. */
    counts = odi_load_relaxed(&record->counts);
    if (counts & ODI_COUNTS_WATCHED && odi_counts_outstanding(counts) > 0)
        return false;
    /* The watch is set before the count is read, so that the last job calls again if this check is early. The
     * same operation closes the record. An earlier count keeps the record in place; a later count fails. L5:
     * acquire, so that an earlier count sees none of the fields that the record gets for another queue or
     * group. */
    counts = odi_or_acqrel(&record->counts, ODI_COUNTS_WATCHED | ODI_COUNTS_CLOSED, L5);
    if (odi_counts_outstanding(counts) > 0)
        return false;
    if (queue->before == record)
        queue->before = record->next_of_queue;
    odi_queue_take_off(record);
    odi_store_relaxed(&record->queue, NULL); /* relaxed: read under the lock, or after a count */
    return true;
}

void odi_queue_reap_record(od_queue *queue, odi_record *record)
{
    odi_lock_acquire(&queue->watch.lock);
    /* relaxed: written under this lock for our records. L8: its group no longer uses it. */
    bool dead = odi_load_relaxed(&record->queue) == queue &&
                odi_load_acquire(&record->group, L8) == NULL &&
                take_off_if_dead(queue, record, false);
    odi_lock_release(&queue->watch.lock);
    if (dead)
        odi_record_free(record);
}

/* ---- the end of a queue ---- */

/* Whether no thread can touch a released queue any longer. Lock held. */
static bool is_over(od_queue *queue)
{
    if (!queue->released || queue->gate.held > 0 || queue->children > 0 ||
        odi_queue_has_passes(queue) || !odi_queue_is_clear(queue) ||
        queue->watch.notifications != NULL) /* the thread that calls them comes here again */
        return false;
    odi_set set = odi_queue_set(queue);

    return odi_set_is_empty(&set, true);
}

/* Removes the records of a finished queue from the list. Lock held. */
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
        queue->released = false; /* a late caller then finds nothing to do */
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

        if (group != NULL) /* a late count that set the watch may still use the group */
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
