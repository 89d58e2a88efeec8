/* submit.h — submission of a job to a queue: it is counted on a record, and stored where it waits. */
#ifndef ODI_GATE_SUBMIT_H
#define ODI_GATE_SUBMIT_H

#include "gate/queue.h"
#include "job/group.h"

#pragma GCC visibility push(hidden)

/* ---- records.c ---- */

odi_record *odi_queue_make_record(void *queue, odi_group *group, uint32_t key);
/* Returns the record without a group. It is created when first needed and after a cancel. Returns NULL if an
 * allocation fails. `reserve`: see odi_record_new. */
odi_record *odi_queue_make_current(od_queue *queue, uint32_t key, bool *reserve);

/* Returns the record for the job, to be checked again after the count (odi_record_is). Returns NULL if the
 * pool is not open or an allocation fails. A pool that has admitted a job stays open until its stop or a
 * fork. Both make a queue create new records, so the pool is checked only then. */
ODI_HOT_INLINE odi_record *odi_queue_find_record(od_queue *queue, odi_group *group, uint32_t key, bool *reserve)
{
    if (group != NULL) {
        odi_record *last = odi_load_acquire(&group->last, L7);

        /* relaxed: a record is stale or closed before it changes its queue, and this is rechecked */
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

/* Counts jobs on the record. Returns false if it is closed or belongs to another queue; nothing is counted,
 * and the caller looks the record up again. */
ODI_HOT_INLINE bool odi_queue_count(odi_record *record, od_queue *queue, odi_group *group, uint32_t key, uint32_t jobs)
{
    if (ODI_UNLIKELY(!odi_record_count(record, queue, group, jobs)))
        return false;
    /* A group's record may have served another queue when it was found; the count now keeps it in place. */
    bool counts = ODI_LIKELY(odi_record_key(record) == key);
    if (ODI_UNLIKELY(!counts))
        odi_record_complete(record, jobs);
    return counts;
}

/* Called if odi_queue_find_record has found none: starts the pool, unless another thread has done so. Returns
 * NULL with OD_OK if an allocation fails. */
odi_record *odi_queue_admit(od_queue *queue, odi_group *group, uint32_t key, bool *reserve, od_status *status);

/* Pushes a job that its record has counted into the wait queue. Returns false if the job is cancelled, or if
 * an allocation fails and node is NULL. No lock is held. */
bool odi_queue_push(od_queue *queue, odi_entry labelled, odi_entry_node *node);

/* ---- limit.c ---- */

/* Submits a job to a queue with a limit. No lock is held. */
od_status odi_limit_submit(od_queue *queue, odi_group *group, uint32_t key, odi_entry job);
/* As odi_limit_submit. Returns false if the job was refused and the caller still owns it: out of memory, or
 * at the limit with OD_OK. */
bool odi_limit_try(od_queue *queue, odi_group *group, uint32_t key, odi_entry job, od_overflow overflow,
                   od_status *status);

/* ---- submit.c ---- */

/* Submits a job without group and limit that owns a node and, with `reserve`, a reserved record
 * (odi_records_reserve). It is accepted even if no memory is available. It is discarded only if the reserve
 * is spent, an allocation fails, and running jobs occupy all cancelled records of the queue. */
void odi_queue_submit_node(od_queue *queue, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve);
/* Submits a job of a user. If the result is not OD_OK, the job was not accepted: see odi_pool_admit. */
od_status odi_queue_enter(od_queue *queue, odi_group *group, uint32_t key, odi_entry job);
/* Returns the key for band and flags. Closes the queue for a barrier. */
uint32_t odi_queue_key(od_queue *queue, int32_t band, uint32_t flags);

/* ---- cancel.c, drain.c ---- */

/* Cancels the queue's jobs. Lock held; releases it. */
uint64_t odi_queue_cancel(od_queue *queue);
void odi_queue_purge(od_queue *queue); /* no lock is held */

/* Serves the queue as a drainer; the function of a drain request. */
void odi_queue_drain(void *pass);

#pragma GCC visibility pop

#endif
