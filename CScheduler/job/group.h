/* group.h — waiting for a number of jobs: a set of records, one of which counts what is entered
 * by hand. The record for a queue and key is found in constant time, however many queues there are.
 *
 * Owns     its chains of records. A group's memory is never unmapped or reused as anything
 *          else, so a worker that drains the last job may touch it after the waiter has let
 *          it go.
 * Threads  anyone. The caller keeps the group alive during a call.
 *
 * Edges    L7  record -> submit   release/acquire   the fields of the record that was used last
 *          L8  disband -> reap    release/acquire   the group is done with a record
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
    odi_record own;                /* enter and leave */
    odi_atomic(odi_record *) last; /* the record that was used last: mostly the one needed */
    odi_record *records, *unknown; /* the chains: those that may have jobs, the others */
    odi_record **buckets;          /* the newest of each queue and key, by hash */
    odi_record *first_bucket;      /* all of them, until there are several */
    uint32_t bucket_bits;          /* so many buckets, as a power of two */
    uint32_t newest;               /* records in the buckets */
    odi_watch watch;               /* its lock guards the chains and the buckets */
    bool given_up;                 /* nobody holds it: it goes when it is empty */
    uint64_t entered_before;       /* enters of a forked child's parent that were not left; under the lock */
    void *link_of_the_arena;
};

/* A cheap look, for spinning: false may be wrong, true means "wait, it will not take long". */
bool odi_group_seems_empty(odi_group *group);

/* The group's record for a queue and key: an existing one, or one from `make`, which is
 * called with the group's lock held and may return NULL. */
typedef odi_record *odi_record_maker(void *queue, odi_group *group, uint32_t key);
odi_record *odi_group_record(odi_group *group, void *queue, uint32_t key,
                             odi_record_maker *make);

/* Somebody counts a job on a record that the group did not know. No lock is held. */
void odi_group_know(odi_group *group, odi_record *record);

/* The group as a set to be waited for. */
odi_set odi_group_set(odi_group *group);

/* Takes a record off the group's chain; the record is its queue's alone from here on. */
void odi_group_forget(odi_group *group, odi_record *record);

/* A watched record of the group has drained. */
void odi_group_drained(odi_group *group);

void odi_groups_forked(void);

#pragma GCC visibility pop

#endif
