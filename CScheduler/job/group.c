/* group.c — groups: their records by queue and key in a hash table, manual entries, and their reuse after
 * release. Waits for a group are in gate/wait.c. */
#include "job/group.h"

#include <stdlib.h>

#include "base/invariant.h"
#include "job/arena.h"
#include "job/count.h"

static odi_arena groups = ODI_ARENA_FOR(odi_group);

/* Inserts a record into a list. Lock held, for both functions. */
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
    group->records = group->unknown = NULL;
    put(&group->unknown, &group->own);
    group->first_bucket = NULL;
    group->buckets = &group->first_bucket;
    group->bucket_bits = group->newest = 0;
    odi_store_relaxed(&group->own.group, group); /* relaxed: not shared yet, or no user is left */
}

static void move_to_unknown(odi_record *record)
{
    odi_group *group = odi_load_relaxed(&record->group); /* relaxed: under the group's lock */

    take_off(record);
    put(&group->unknown, record);
}

odi_set odi_group_set(odi_group *group)
{
    return (odi_set){&group->watch, &group->records, odi_record_next_of_group,
                     ODI_COUNTS_KNOWN_TO_GROUP, move_to_unknown};
}

/* ---- the newest record of each queue and key ---- */

enum { PER_BUCKET = 4, MORE_BUCKET_BITS = 2, MOST_BUCKET_BITS = 24, HASH_BITS = 32 };

static uint32_t hash_of(const void *queue, uint32_t key)
{
    uint64_t name = (uint64_t)(uintptr_t)queue ^ key; /* the low bits of a queue's address are zero */

    return (uint32_t)((name * UINT64_C(0x9E3779B97F4A7C15)) >> HASH_BITS);
}

static odi_record **bucket_of(const odi_group *group, uint32_t hash)
{
    return &group->buckets[(uint64_t)hash >> (HASH_BITS - group->bucket_bits)];
}

static void put_in_bucket(odi_group *group, odi_record *record)
{
    odi_record **bucket = bucket_of(group, record->hash);

    record->next_of_bucket = *bucket;
    *bucket = record;
}

/* Grows the hash table. If the allocation fails, the buckets become longer instead. */
static void grow(odi_group *group)
{
    uint32_t before = 1u << group->bucket_bits, bits = group->bucket_bits + MORE_BUCKET_BITS;
    odi_record **old = group->buckets;
    odi_record **buckets = bits > MOST_BUCKET_BITS ? NULL : calloc((size_t)1 << bits, sizeof(void *));

    if (buckets == NULL)
        return;
    group->buckets = buckets;
    group->bucket_bits = bits;
    for (uint32_t i = 0; i < before; i++) {
        for (odi_record *record = old[i], *next; record != NULL; record = next) {
            next = record->next_of_bucket;
            put_in_bucket(group, record);
        }
    }
    if (old != &group->first_bucket)
        free(old);
}

static void add_newest(odi_group *group, odi_record *record)
{
    if (group->newest >= (uint64_t)PER_BUCKET << group->bucket_bits)
        grow(group);
    group->newest++;
    /* relaxed: a record in use keeps its queue */
    record->hash = hash_of(odi_load_relaxed(&record->queue), odi_record_key(record));
    put_in_bucket(group, record);
}

/* Removes the record if it is one of the newest. Its queue may no longer use it. */
static void remove_newest(odi_group *group, odi_record *record)
{
    odi_record **link = bucket_of(group, record->hash);

    while (*link != NULL && *link != record)
        link = &(*link)->next_of_bucket;
    if (*link != NULL) {
        *link = record->next_of_bucket;
        group->newest--;
    }
}

/* Returns the newest record for a queue and key, or NULL. */
static odi_record *find_newest(odi_group *group, void *queue, uint32_t key)
{
    odi_record *record = *bucket_of(group, hash_of(queue, key));

    while (record != NULL &&
           !(odi_record_is(record, queue, group) && odi_record_key(record) == key))
        record = record->next_of_bucket;
    return record;
}

/* ---- creation and release ---- */

odi_group *od_group_create(void)
{
    odi_group *group = odi_arena_take(&groups);

    if (group == NULL)
        return NULL;
    odi_lock_acquire(&group->watch.lock); /* a late reader of the memory's former group holds it */
    clear(group);
    group->given_up = false;
    group->entered_before = 0;
    odi_store_relaxed(&group->last, (odi_record *)NULL); /* relaxed: not shared yet */
    odi_lock_release(&group->watch.lock);
    return group;
}

/* The group's records are empty, and their queues free them. Under the lock, so that no record is freed while
 * it is still listed (odi_group_forget comes first). */
static void disband_chain(odi_group *group, odi_record *record)
{
    odi_record *next;

    for (; record != NULL; record = next) {
        next = record->next_of_group;
        if (record == &group->own)
            continue;
        record->link_of_group = NULL;
        odi_or_relaxed(&record->flags, ODI_RECORD_STALE | ODI_RECORD_ORPHANED); /* relaxed: L8 publishes it */
        /* L8: from here on its queue may start its next generation. */
        odi_store_release(&record->group, (odi_group *)NULL, L8);
        record->owner->reap(record); /* takes the queue's lock and calls no user code */
    }
}

static void disband(odi_group *group)
{
    disband_chain(group, group->records);
    disband_chain(group, group->unknown);
    if (group->buckets != &group->first_bucket)
        free(group->buckets);
    odi_and_relaxed(&group->own.counts, ~ODI_COUNTS_KNOWN_TO_GROUP); /* relaxed: no thread holds the group */
    clear(group);
}

/* Frees a released group when it is empty. The first thread that sees this frees it. */
static void recycle_if_over(odi_group *group)
{
    odi_set set = odi_group_set(group);

    odi_lock_acquire(&group->watch.lock);
    /* A thread that still has to call notifications comes here again. */
    bool over = group->given_up && group->watch.notifications == NULL && odi_set_is_empty(&set, true);
    if (over) {
        group->given_up = false;
        disband(group);
    }
    odi_lock_release(&group->watch.lock);
    if (over)
        odi_arena_give(&groups, group);
}

void od_group_release(odi_group *group)
{
    odi_lock_acquire(&group->watch.lock);
    group->given_up = true;
    odi_lock_release(&group->watch.lock);
    recycle_if_over(group);
}

/* More entries than a program can make in a lifetime, and far fewer than the count can hold. */
#define MOST_ENTERED (ODI_COUNTS_OUTSTANDING >> 1)

void od_group_enter(odi_group *group)
{
    /* relaxed: a holder of the group has its fields; a group's own record is never closed */
    uint64_t before = odi_add_relaxed(&group->own.counts, 1);

    if (ODI_UNLIKELY(!(before & ODI_COUNTS_KNOWN_TO_GROUP)))
        odi_group_know(group, &group->own);
    if (ODI_UNLIKELY(odi_counts_outstanding(before) >= MOST_ENTERED))
        odi_trap("WaitGroup.enter(): too many calls without leave() (%llu). Call leave() once for each.",
                 (unsigned long long)MOST_ENTERED);
}

/* Every check holds the lock. After this call it finds the record active and not empty. */
ODI_COLD void odi_group_know(odi_group *group, odi_record *record)
{
    odi_lock_acquire(&group->watch.lock);
    /* relaxed: the lock */
    if (!(odi_or_relaxed(&record->counts, ODI_COUNTS_KNOWN_TO_GROUP) & ODI_COUNTS_KNOWN_TO_GROUP)) {
        take_off(record);
        put(&group->records, record);
    }
    odi_lock_release(&group->watch.lock);
}

/* In a forked child: whether the leave belongs to an enter before the fork, which the child's waits do not
 * count. */
ODI_COLD static bool was_entered_before(odi_group *group)
{
    odi_lock_acquire(&group->watch.lock);
    bool was = group->entered_before > 0;
    group->entered_before -= was;
    odi_lock_release(&group->watch.lock);
    return was;
}

void od_group_leave(odi_group *group)
{
    /* relaxed: only the caller's own enter must be visible here */
    if (ODI_UNLIKELY(odi_counts_outstanding(odi_load_relaxed(&group->own.counts)) == 0)) {
        if (was_entered_before(group))
            return;
        odi_trap("WaitGroup.leave(): called more often than enter(). Call it once for each enter().");
    }
    if (ODI_UNLIKELY(odi_record_subtract(&group->own, 1))) {
        odi_record_end_watch(&group->own);
        odi_group_drained(group);
    }
}

bool odi_group_seems_empty(odi_group *group)
{
    /* relaxed, all: a hint. `last` may be a stale record, whose job count is still readable. */
    odi_record *last = odi_load_relaxed(&group->last);

    return odi_counts_outstanding(odi_load_relaxed(&group->own.counts)) == 0 &&
           (last == NULL || odi_counts_outstanding(odi_load_relaxed(&last->counts)) == 0);
}

/* Replaces a newest record that a cancel or a barrier has closed. Lock held. */
static odi_record *replace(odi_group *group, odi_record *newest, odi_record_maker *make)
{
    /* relaxed, both: an open record of the group keeps its queue and key */
    void *queue = odi_load_relaxed(&newest->queue);
    odi_record *successor = odi_record_serve_again(newest, newest->owner->renew);

    if (successor == newest)
        return newest;
    if (successor == NULL) {
        successor = make(queue, group, odi_record_key(newest));
        if (successor == NULL)
            return NULL;
        odi_record_succeed(successor, newest);
        put(&group->records, successor);
    }
    remove_newest(group, newest);
    add_newest(group, successor);
    return successor;
}

odi_record *odi_group_record(odi_group *group, void *queue, uint32_t key,
                             odi_record_maker *make)
{
    odi_lock_acquire(&group->watch.lock);
    odi_record *record = find_newest(group, queue, key);

    if (record == NULL) {
        if ((record = make(queue, group, key)) != NULL) {
            put(&group->records, record);
            add_newest(group, record);
        }
    } else if (odi_load_relaxed(&record->flags) & ODI_RECORD_STALE) /* relaxed: written under the lock */
        record = replace(group, record, make);
    if (record != NULL)
        odi_store_release(&group->last, record, L7);
    odi_lock_release(&group->watch.lock);
    return record;
}

void odi_group_forget(odi_group *group, odi_record *record)
{
    odi_lock_acquire(&group->watch.lock);
    if (record->link_of_group != NULL) { /* NULL: the group was disbanded in between */
        take_off(record);
        remove_newest(group, record);
    }
    if (odi_load_relaxed(&group->last) == record) /* relaxed: written under this lock */
        odi_store_relaxed(&group->last, (odi_record *)NULL);
    odi_lock_release(&group->watch.lock);
}

void odi_group_drained(odi_group *group)
{
    odi_set set = odi_group_set(group);

    odi_watch_changed(&set);
    recycle_if_over(group);
}

static void forget_what_waits(void *object)
{
    odi_group *group = object;

    group->watch.lock = (odi_lock){0};
    group->watch.notifications = NULL; /* the parent calls them */
    group->watch.waiters = NULL;       /* and wakes these */
    odi_store_relaxed(&group->watch.interested, 0); /* relaxed, all: one thread exists */
    clear(group);
    odi_store_relaxed(&group->last, (odi_record *)NULL);
    group->entered_before += odi_counts_outstanding(odi_load_relaxed(&group->own.counts));
    odi_store_relaxed(&group->own.counts, 0);
}

void odi_groups_forked(void)
{
    odi_arena_forked(&groups, forget_what_waits);
}
