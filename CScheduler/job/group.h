/* group.h — groups: a set of records whose jobs a thread can wait for together; one record counts manual
 * entries.
 *
 * The record for a queue and key is found in constant time, for any number of queues.
 *
 * Owns     its lists of records. A group's memory is never unmapped or used for another type, so a
 *          worker that finishes the last job may still touch it after the waiter has freed it.
 * Threads  any thread. The caller keeps the group alive during a call.
 *
 * Edges    L7  record -> submit   release/acquire   the fields of the last used record
 *          L8  disband -> reap    release/acquire   the group no longer uses a record
 */
#ifndef ODI_JOB_GROUP_H
#define ODI_JOB_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "include/od_group.h"
#include "job/record.h"
#include "job/watch.h"

#pragma GCC visibility push(hidden)

typedef struct odi_group odi_group;

struct odi_group {
    odi_record own;                /* counts enter and leave */
    odi_atomic(odi_record *) last; /* the last used record, usually the needed one */
    odi_record *records, *unknown; /* the lists: records that may have jobs, and other records */
    odi_record **buckets;          /* hash table: the newest record of each queue and key */
    odi_record *first_bucket;      /* the only bucket until there are several */
    uint32_t bucket_bits;          /* log2 of the number of buckets */
    uint32_t newest;               /* records in the buckets */
    odi_watch watch;               /* its lock protects the lists and the buckets */
    bool given_up;                 /* released by its user; freed when it is empty */
    uint64_t entered_before;       /* entries in a forked child's parent that were not left; under the lock */
    void *link_of_the_arena;
};

/* A cheap check for spinning: false may be wrong; true means that a wait would be short. */
bool odi_group_seems_empty(odi_group *group);

/* Returns the group's record for a queue and key: an existing record, or one from `make`. `make` is called
 * with the group's lock held and may return NULL. */
typedef odi_record *odi_record_maker(void *queue, odi_group *group, uint32_t key);
odi_record *odi_group_record(odi_group *group, void *queue, uint32_t key,
                             odi_record_maker *make);

/* Marks a record as active in the group when a job is counted on an inactive record. No lock is held. */
void odi_group_know(odi_group *group, odi_record *record);

/* Returns the group as a set that a thread can wait for. */
odi_set odi_group_set(odi_group *group);

/* Removes a record from the group's lists; afterwards only its queue uses it. */
void odi_group_forget(odi_group *group, odi_record *record);

/* Called when a watched record of the group has become empty. */
void odi_group_drained(odi_group *group);

void odi_groups_forked(void);

#pragma GCC visibility pop

#endif
