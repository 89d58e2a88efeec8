/* submit.h — how a job comes into a queue: it is counted on a record, and lies where it waits. */
#ifndef ODI_GATE_SUBMIT_H
#define ODI_GATE_SUBMIT_H

#include "gate/queue.h"
#include "job/group.h"

#pragma GCC visibility push(hidden)

/* ---- records.c ---- */

odi_record *odi_queue_make_record(void *queue, odi_group *group, uint32_t key);
/* The record without a group; made when it is first needed, and after a cancel. NULL: memory is short. `reserve` is
 * odi_record_new's. */
odi_record *odi_queue_make_current(od_queue *queue, uint32_t key, bool *reserve);

/* The record to count such a job on, to be asked again after the count (odi_record_is). NULL: the pool is not
 * open, or memory is short. A pool that has admitted a job does so until its stop, or a
 * fork, after both of which a queue's records are made anew: only then is it looked at. */
ODI_HOT_INLINE odi_record *odi_queue_find_record(od_queue *queue, odi_group *group, uint32_t key, bool *reserve)
{
    if (group != NULL) {
        odi_record *last = odi_load_acquire(&group->last, L7);

        /* relaxed: a record that changes hands was stale or closed before; asked again */
        if (ODI_LIKELY(last != NULL && odi_record_is(last, queue, group) &&
                       odi_record_key(last) == key &&
                       !(odi_load_relaxed(&last->flags) & ODI_RECORD_STALE)))
            return last;
        return odi_pool_is_open(queue->pool)
                   ? odi_group_record(group, queue, key, odi_queue_make_record)
                   : NULL;
    }
    uintptr_t current = odi_load_acquire(odi_queue_current(queue, key), L6);
    if (ODI_LIKELY(!(current & ODI_CURRENT_NONE)))
        return (odi_record *)current;
    return odi_pool_is_open(queue->pool) ? odi_queue_make_current(queue, key, reserve) : NULL;
}

/* Counts jobs on it. False: it is closed or another's by now, nothing is counted, and the caller looks again. */
ODI_HOT_INLINE bool odi_queue_count(odi_record *record, od_queue *queue, odi_group *group, uint32_t key, uint32_t jobs)
{
    if (ODI_UNLIKELY(!odi_record_count(record, queue, group, jobs)))
        return false;
    /* A group's may have served another queue when it was found: now it stays what it is. */
    bool counts = ODI_LIKELY(odi_record_key(record) == key);
    if (ODI_UNLIKELY(!counts))
        odi_record_complete(record, jobs);
    return counts;
}

/* As odi_queue_find_record where there was none: begins the pool, or another thread has done so since. NULL with OD_OK: memory is
 * short. */
odi_record *odi_queue_admit(od_queue *queue, odi_group *group, uint32_t key, bool *reserve, od_status *status);

/* Puts a job that its record has counted into the line. False: the job is cancelled; or memory is short, and it has
 * no node (NULL). Not held. */
bool odi_queue_push(od_queue *queue, odi_entry labelled, odi_entry_node *node);

/* ---- limit.c ---- */

/* Submits to a queue that has a limit. Not held. */
od_status odi_limit_submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job);
/* False: it was refused, and is still the caller's: for want of memory, or for want of room with OD_OK. */
bool odi_limit_try(od_queue *queue, odi_group *group, uint32_t key, odi_entry job, od_overflow overflow,
                   od_status *status);

/* ---- submit.c ---- */

/* Without a group or a limit, and for who owns a node, and with `reserve` a record (odi_records_reserve): it is accepted
 * whatever memory there is. Discarded where the reserve is spent, memory short, and every record of the queue's closed by
 * cancels with jobs that run on. */
void odi_queue_submit_node(od_queue *queue, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve);
/* By the users' door. Nothing was accepted where it returns anything but OD_OK: see odi_pool_admit. */
od_status odi_queue_enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job);
/* What the flags make of the band. Sees to it that a barrier finds a line. */
uint32_t odi_queue_key(od_queue *queue, int32_t band, uint32_t flags);

/* ---- cancel.c, drain.c ---- */

/* Lock held; releases it. */
uint64_t odi_queue_cancel(od_queue *queue);
void odi_queue_purge(od_queue *queue); /* not held */

/* A drainer comes up with its pass. */
void odi_queue_drain(void *pass);

#pragma GCC visibility pop

#endif
