#include "job/group.h"

#include "base/invariant.h"
#include "job/arena.h"

static odi_arena groups = ODI_ARENA_FOR(odi_group);

/* The chain. Lock held, all. */
static void put(odi_record **link, odi_record *record)
{
    record->next_of_group = *link;
    record->link_of_group = link;
    if (*link != NULL)
        (*link)->link_of_group = &record->next_of_group;
    *link = record;
}

static void take_off(odi_record *record)
{
    *record->link_of_group = record->next_of_group;
    if (record->next_of_group != NULL)
        record->next_of_group->link_of_group = record->link_of_group;
    record->link_of_group = NULL;
}

static void clear(odi_group *group)
{
    group->own.next_of_group = NULL;
    group->own.link_of_group = &group->records;
    group->records = &group->own;
}

odi_group *odi_group_new(void)
{
    odi_group *group = odi_arena_take(&groups);

    if (group == NULL)
        return NULL;
    odi_lock_acquire(&group->watch.lock); /* who looks at its last life holds this */
    clear(group);
    group->given_up = false;
    odi_store_relaxed(&group->own.group, group); /* relaxed, both: not shared yet */
    odi_store_relaxed(&group->last, (odi_record *)NULL);
    odi_lock_release(&group->watch.lock);
    return group;
}

/* Its records have drained and are their queues' to free. Under the lock, so that none is
 * freed while it is still in the chain (odi_group_forget comes first). */
static void disband(odi_group *group)
{
    odi_record *record = group->records, *next;

    for (; record != NULL; record = next) {
        next = record->next_of_group;
        if (record == &group->own)
            continue;
        record->link_of_group = NULL;
        odi_or_seqcst(&record->flags, ODI_RECORD_STALE | ODI_RECORD_ORPHANED, L2);
        /* L5: from here on its queue may give it its next life. */
        odi_store_release(&record->group, (odi_group *)NULL, L5);
        record->owner->reap(record); /* takes the queue's lock, calls nobody */
    }
    clear(group);
}

/* A group that nobody holds goes when it is empty. Whoever sees that first does it. */
static void recycle_if_over(odi_group *group)
{
    bool over = false;

    odi_lock_acquire(&group->watch.lock);
    if (group->given_up) {
        /* Who owes the notifications comes here again. */
        over = group->watch.notifications == NULL &&
               odi_records_empty_or_watched(group->records, odi_record_next_of_group);
    }
    if (over) {
        group->given_up = false;
        disband(group);
    }
    odi_lock_release(&group->watch.lock);
    if (over)
        odi_arena_give(&groups, group);
}

void odi_group_give_up(odi_group *group)
{
    odi_lock_acquire(&group->watch.lock);
    group->given_up = true;
    odi_lock_release(&group->watch.lock);
    recycle_if_over(group);
}

void odi_group_enter(odi_group *group)
{
    (void)odi_record_add(&group->own); /* a group's own record is never closed */
}

void odi_group_leave(odi_group *group)
{
    /* relaxed: only the caller's own enter must be in it */
    if (ODI_UNLIKELY(odi_ledger_outstanding(odi_load_relaxed(&group->own.ledger)) == 0))
        odi_trap("WaitGroup.leave() was called more often than enter()");
    odi_record_complete(&group->own, 1);
}

bool odi_group_seems_empty(odi_group *group)
{
    /* relaxed, all: a hint. `last` may name a stale record: its ledger is still a ledger. */
    odi_record *last = odi_load_relaxed(&group->last);

    return odi_ledger_outstanding(odi_load_relaxed(&group->own.ledger)) == 0 &&
           (last == NULL || odi_ledger_outstanding(odi_load_relaxed(&last->ledger)) == 0);
}

bool odi_group_wait(odi_group *group, int64_t deadline_ns)
{
    return odi_watch_wait(&group->watch, &group->records, odi_record_next_of_group,
                          deadline_ns);
}

bool odi_group_notify(odi_group *group, odi_function *function, void *context)
{
    return odi_watch_notify(&group->watch, &group->records, odi_record_next_of_group,
                            function, context);
}

/* The newest record for a queue and key, or NULL. It moves to the front. Lock held. */
static odi_record *find_newest(odi_group *group, void *queue, uint32_t key)
{
    for (odi_record *record = group->records; record != &group->own;
         record = record->next_of_group) {
        if (odi_record_is(record, queue, group) && odi_record_key(record) == key) {
            take_off(record);
            put(&group->records, record);
            return record;
        }
    }
    return NULL;
}

/* For a newest record that a cancel or a barrier has closed: one that takes its place. Lock
 * held. */
static odi_record *replace(odi_group *group, odi_record *newest, odi_record_maker *make)
{
    /* relaxed, both: an open record of the group keeps its queue and key */
    void *queue = odi_load_relaxed(&newest->queue);
    odi_record *heir = odi_record_serve_again(newest, newest->owner->renew);

    if (heir == newest)
        return newest;
    if (heir != NULL)
        take_off(heir);
    else if ((heir = make(queue, group, odi_record_key(newest))) != NULL)
        odi_record_succeed(heir, newest);
    else
        return NULL;
    take_off(newest);
    put(&group->own.next_of_group, newest);
    put(&group->records, heir);
    return heir;
}

odi_record *odi_group_record(odi_group *group, void *queue, uint32_t key,
                             odi_record_maker *make)
{
    odi_lock_acquire(&group->watch.lock);
    odi_record *record = find_newest(group, queue, key);

    if (record == NULL) {
        if ((record = make(queue, group, key)) != NULL)
            put(&group->records, record);
    } else if (odi_load_acquire(&record->flags, L5) & ODI_RECORD_STALE)
        record = replace(group, record, make);
    if (record != NULL)
        odi_store_release(&group->last, record, L5);
    odi_lock_release(&group->watch.lock);
    return record;
}

void odi_group_forget(odi_group *group, odi_record *record)
{
    odi_lock_acquire(&group->watch.lock);
    if (record->link_of_group != NULL) /* NULL: the group was disbanded meanwhile */
        take_off(record);
    if (odi_load_relaxed(&group->last) == record) /* relaxed: written under this lock */
        odi_store_relaxed(&group->last, (odi_record *)NULL);
    odi_lock_release(&group->watch.lock);
}

void odi_group_drained(odi_group *group)
{
    odi_watch_changed(&group->watch, &group->records, odi_record_next_of_group);
    recycle_if_over(group);
}

static void forget_what_waits(void *object)
{
    odi_group *group = object;

    group->watch.lock = (odi_lock){0};
    group->watch.notifications = NULL; /* the parent makes them */
    clear(group);
    odi_store_relaxed(&group->last, (odi_record *)NULL); /* relaxed, both: one thread exists */
    odi_store_relaxed(&group->own.ledger, 0);
}

void odi_groups_forked(void)
{
    odi_arena_forked(&groups, forget_what_waits);
}
