/* record.h — submission records: the completion counter of a queue, group and band, found through a job's
 * tag.
 *
 * A record counts the outstanding jobs; job/count.h changes the count. Cancellation, suspension and waiting
 * work on records, never on queued jobs. A record's memory is never unmapped or used for another type. A late
 * read sees a stale record, and the reader detects this by a second read.
 *
 * Owns     the table of records and their tags.
 * Never    knows queues or groups beyond their addresses.
 * Threads  queries: any thread. new, free: any thread, under the lock of the record's queue.
 *
 * The job count is one word of five fields, with their bits: active in the queue (1), active in the group
 * (1), watched (1), closed (1), outstanding (60). Closing is a read-modify-write as well. It divides
 * submissions into those that a cancel has counted and those that go to the queue's next record.
 *
 * A queue or group is empty if none of its active records has outstanding jobs. A check for emptiness
 * deactivates empty records, under the lock of the queue or group. A thread that counts a job on an inactive
 * record activates it again under that lock, before it submits the job. A check that finds at most one active
 * record, which is empty, has therefore found a moment at which all were empty.
 *
 * A submitter may count on a record that it found long before a cancel. A cancelled record is therefore
 * reused only for its own queue, group and band, for which a late count is an ordinary submission. The record
 * is freed when its queue or group is freed, which does not happen during a submission.
 *
 * A submitter that finds another queue's record, or a closed one, takes its count back. Until then that
 * record starts no new generation and serves no other queue. A count thus belongs to one lifetime, and the
 * thread that makes the count zero knows the watchers.
 *
 * Edges    L1  complete -> outstanding's readers   release/acquire   the jobs' writes
 *          L2  add <-> flags                       light/heavy fence a flag's setter sees the
 *                                                                    count, or the submitter
 *                                                                    the flag
 *          L5  new -> count, and a check of its    release/acquire   the record's fields
 *              queue and group
 */
#ifndef ODI_JOB_RECORD_H
#define ODI_JOB_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "job/job.h"
#include "sleep/lock.h"

#pragma GCC visibility push(hidden)

struct odi_team;
struct odi_group;
typedef struct odi_record odi_record;

/* Functions that a record's queue provides. */
typedef struct {
    /* Called by a worker with a job of a diverted record: puts the job into the queue's wait queue. */
    void (*divert)(odi_record *record, odi_entry job);
    /* The outstanding count of this watched record has become zero. The record may be in its next generation
     * by now. */
    void (*drained)(void *queue, odi_record *record);
    /* The record has lost its group and is freed as soon as it is empty. Called under the group's lock. */
    void (*reap)(odi_record *record);
    /* Starts a cancelled record's next generation (odi_record_renew). Called under its group's lock. */
    bool (*renew)(odi_record *record);
    /* Activates the record in its queue, because a job is counted on it. No lock is held. */
    void (*know)(odi_record *record);
} odi_record_owner;

enum {
    ODI_RECORD_CANCELLED = 1, /* jobs that have not started are discarded; never cleared in a generation */
    ODI_RECORD_DIVERTED = 2,  /* jobs pass through the queue's wait queue: limited, suspended … */
    ODI_RECORD_STALE = 4,     /* no longer found: its queue or group has another record */
    ODI_RECORD_ORPHANED = 8   /* its group is freed: the record is freed when it is empty */
};

struct odi_record {
    /* Read by every submission and every start of a job; rarely written. */
    ODI_LINE_ALIGNED odi_atomic(uint32_t) flags;
    uint32_t tag; /* its index in the table, in every generation */
    odi_atomic(uint32_t) key; /* band, and ODI_KEY_BARRIER */
    uint32_t hash;            /* hash of queue and key, for its group: see group.c */
    odi_atomic(struct odi_team *) team;
    odi_atomic(void *) queue;
    odi_atomic(struct odi_group *) group; /* NULL: no group */
    const odi_record_owner *owner; /* equal in every generation */
    odi_record *next_of_queue;   /* under the queue's lock */
    odi_record **link_of_queue;  /* the pointer to this record in that list; under the queue's lock */

    /* Written by every submission and at the end of every run. */
    ODI_LINE_ALIGNED odi_atomic(uint64_t) counts;
    odi_record *next_of_group, **link_of_group; /* under the group's lock */
    odi_lock cancel_lock; /* orders cancels with concurrent starts and ends */
    uint32_t outside;     /* inline jobs, outside a worker's run; under the cancel lock */
    odi_record *next_former, *first_former, *last_former; /* see odi_record_serve_again */
    odi_record *next_of_bucket; /* under the group's lock: see group.c; also the link of the list of free
                                   records */
};

#define ODI_COUNTS_KNOWN_TO_QUEUE (UINT64_C(1) << 63)
#define ODI_COUNTS_KNOWN_TO_GROUP (UINT64_C(1) << 62)
#define ODI_COUNTS_KNOWN (ODI_COUNTS_KNOWN_TO_QUEUE | ODI_COUNTS_KNOWN_TO_GROUP)
#define ODI_COUNTS_WATCHED (UINT64_C(1) << 61)
#define ODI_COUNTS_CLOSED (UINT64_C(1) << 60)
#define ODI_COUNTS_OUTSTANDING (ODI_COUNTS_CLOSED - 1)

/* A record's key: its band, and whether its jobs are barriers. */
#define ODI_KEY_BAND 7u
#define ODI_KEY_BARRIER 8u

static inline uint32_t odi_record_key(odi_record *record)
{
    return odi_load_relaxed(&record->key); /* relaxed: rechecked by odi_record_is */
}

static inline uint32_t odi_record_band(odi_record *record)
{
    return odi_record_key(record) & ODI_KEY_BAND;
}

/* Reserves memory for one record, for a caller whose jobs must not be refused. The reserve lasts until the
 * caller uses it (`reserve`) or returns it. Returns false if an allocation fails. */
bool odi_records_reserve(void);
void odi_records_unreserve(void);

/* Returns a record with an empty job count and these flags, or NULL if an allocation fails. `reserve`:
 * whether the caller has a reserved record. It becomes false if the reserve was needed. NULL: no reserve. */
odi_record *odi_record_new(struct odi_team *team, void *queue, struct odi_group *group,
                           uint32_t key, uint32_t flags, const odi_record_owner *owner, bool *reserve);
/* Frees an empty record whose job count is closed. */
void odi_record_free(odi_record *record);

/* Starts the next generation of a cancelled record, with these flags and its old queue, group and key.
 * Returns false if jobs or late counts of the last generation are outstanding. Under its queue's lock. */
bool odi_record_renew(odi_record *record, uint32_t flags);

/* Only the newest record of a queue, group and key can be found. Records that cancels have closed wait in the
 * newest record's list of retired records, oldest first, until their jobs are discarded. The list may have
 * thousands of entries, so no thread walks it. Under the group's lock, or without a group the queue's lock.
 *
 * Returns the newest record, or a retired one, in a generation that `renew` starts; it is the newest from
 * here on. Returns NULL if their jobs are outstanding.
 */
odi_record *odi_record_serve_again(odi_record *newest, bool (*renew)(odi_record *record));

/* Replaces the newest record by one that was not retired; the former newest goes to the end of the list. */
void odi_record_succeed(odi_record *successor, odi_record *newest);

/* Tags with other meanings: label.h's wrapper, and internal jobs of the engine, which are neither counted nor
 * reported. */
#define ODI_TAG_WRAPPED 1u
#define ODI_TAG_INTERNAL 2u
#define ODI_TAG_FIRST 3u /* first tag of a record */

/* Constant once the first record exists. A worker's word for its run has 24 bits for the tag. */
#define ODI_RECORDS (1u << 24)
extern odi_record *odi_record_table;

/* Returns the record of a tag that belongs to a record. */
static inline odi_record *odi_record_of(uint32_t tag)
{
    return &odi_record_table[tag];
}

static inline uint64_t odi_counts_outstanding(uint64_t counts)
{
    return counts & ODI_COUNTS_OUTSTANDING;
}

/* Whether a record still belongs to this queue and group. The caller asks again after the count, with L2's
 * fence between. A record is marked stale before it changes its queue. L5: a reader of the new queue also
 * reads its group. */
static inline bool odi_record_is(odi_record *record, void *queue, struct odi_group *group)
{
    return odi_load_acquire(&record->queue, L5) == queue &&
           odi_load_relaxed(&record->group) == group; /* relaxed: L5 precedes it */
}

/* Whether the record is empty. With `watching`, a nonempty record is watched, and its last job notifies. */
bool odi_record_is_empty(odi_record *record, bool watching);

/* Ends the watch of an empty record. The watchers check again and decide whether to watch further. */
void odi_record_end_watch(odi_record *record);

/* Deactivates an empty record in its queue or group (`known`). Returns false if it is not empty; with
 * `watching` it is then watched. Under that queue's or group's lock. */
bool odi_record_make_unknown(odi_record *record, uint64_t known, bool watching);

/* Returns the next record of a set. */
typedef odi_record *odi_record_walk(odi_record *record);

odi_record *odi_record_next_of_queue(odi_record *record);
odi_record *odi_record_next_of_group(odi_record *record);

/* In a forked child: resets all records. Outstanding jobs belong to the parent, and queues and groups have no
 * records yet. A record of a queue at rest stays as it is, so that the child copies none of its memory. */
extern bool (*odi_record_rests_above)(odi_record *record);
void odi_records_forked(void);

#pragma GCC visibility pop

#endif
