/* record.h — whose a job is: the submission record {queue, group, band} behind its tag, and
 * the record's job count of how many jobs are outstanding, which job/count.h changes.
 *
 * cancelAll, suspension and waiting act on records, never on queued jobs. A record's memory
 * is never unmapped or reused as anything else, so whoever looks at it late sees a stale
 * record and finds out by looking again.
 *
 * Owns     the table of records and their tags.
 * Never    knows queues or groups beyond their addresses.
 * Threads  the queries: anyone. new, free: anyone, under the lock of the queue that the
 *          record is of.
 *
 * The job count is one word: known to the queue (1) | known to the group (1) | watched (1) | closed (1) |
 * outstanding (60). Closing is a read-modify-write too: it divides the submissions into those that a
 * cancel counted and those that go to the queue's next record.
 *
 * A queue (a group) is empty when no record that it knows has jobs outstanding. Who looks for that
 * makes empty records unknown, under the queue's (the group's) lock; whoever counts a job on a record
 * that is unknown makes it known again, under that lock, before the job is submitted. So a look that
 * finds nothing known but one record, and that one empty, has met a moment at which all were.
 *
 * A submitter may count on a record that it found before a cancel, however late. So a
 * cancelled record serves its own queue, group and band again, where a late count is a
 * submission like any other; it is freed when its queue or group is over, which is not while
 * a submission to them is under way. Who takes another one's record for his, or a closed one for open, takes
 * his count back: until then that record begins neither a generation nor another life, so that a count is of
 * one life, and the last to tell the job count knows who watches.
 *
 * Edges    L1  complete -> outstanding's readers   release/acquire   what the bodies wrote
 *          L2  add <-> flags                       light/heavy fence a flag's setter sees the
 *                                                                    count, or the submitter
 *                                                                    the flag
 *          L5  new -> count, and a look at whose   release/acquire   the record's fields
 *              it is
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

/* What a record needs from above: the queue that it is of. */
typedef struct {
    /* A worker met a job of a record that is diverted: it belongs in the queue's line. */
    void (*divert)(odi_record *record, odi_entry job);
    /* The outstanding count of this watched record of the queue fell to zero: it may be in its
     * next generation by now. */
    void (*drained)(void *queue, odi_record *record);
    /* A record lost its group: it is freed as soon as it is empty. Under the group's lock. */
    void (*reap)(odi_record *record);
    /* Begins a cancelled record's next generation (odi_record_renew). Under its group's lock. */
    bool (*renew)(odi_record *record);
    /* Makes the record known to its queue, which somebody counts a job for. No lock is held. */
    void (*know)(odi_record *record);
} odi_record_owner;

enum {
    ODI_RECORD_CANCELLED = 1, /* what has not started is discarded; never taken back */
    ODI_RECORD_DIVERTED = 2,  /* jobs pass through the queue's line: limited, suspended … */
    ODI_RECORD_STALE = 4,     /* no longer to be found: its queue or group has another */
    ODI_RECORD_ORPHANED = 8   /* its group is over: freed when it is empty */
};

struct odi_record {
    /* Read by every submission and every start; written when a queue changes its mind. */
    ODI_LINE_ALIGNED odi_atomic(uint32_t) flags;
    uint32_t tag; /* its place in the table, in every generation */
    odi_atomic(uint32_t) key; /* band, and ODI_KEY_BARRIER */
    uint32_t hash;            /* of queue and key, as its group finds it: see group.c */
    odi_atomic(struct odi_team *) team;
    odi_atomic(void *) queue;
    odi_atomic(struct odi_group *) group; /* NULL: none */
    const odi_record_owner *owner; /* the same in every generation */
    odi_record *next_of_queue;   /* under the queue's lock */
    odi_record **link_of_queue;  /* what points here in that chain; under the queue's lock */

    /* Written by every submission and at the end of every run. */
    ODI_LINE_ALIGNED odi_atomic(uint64_t) counts;
    odi_record *next_of_group, **link_of_group; /* under the group's lock */
    odi_lock cancel_lock; /* orders cancels with the starts and ends that meet them */
    uint32_t outside;     /* jobs running on threads that are no workers; under the cancel lock */
    odi_record *next_former, *first_former, *last_former; /* see odi_record_serve_again */
    odi_record *next_of_bucket; /* newest ones, under the group's lock: see group.c; and the chain of free records */
};

#define ODI_COUNTS_KNOWN_TO_QUEUE (UINT64_C(1) << 63)
#define ODI_COUNTS_KNOWN_TO_GROUP (UINT64_C(1) << 62)
#define ODI_COUNTS_KNOWN (ODI_COUNTS_KNOWN_TO_QUEUE | ODI_COUNTS_KNOWN_TO_GROUP)
#define ODI_COUNTS_WATCHED (UINT64_C(1) << 61)
#define ODI_COUNTS_CLOSED (UINT64_C(1) << 60)
#define ODI_COUNTS_OUTSTANDING (ODI_COUNTS_CLOSED - 1)

/* A record is for one band, and for barriers or for jobs that are none. */
#define ODI_KEY_BAND 7u
#define ODI_KEY_BARRIER 8u

static inline uint32_t odi_record_key(odi_record *record)
{
    return odi_load_relaxed(&record->key); /* relaxed: see odi_record_is */
}

static inline uint32_t odi_record_band(odi_record *record)
{
    return odi_record_key(record) & ODI_KEY_BAND;
}

/* For somebody whose jobs must not be refused: of the records that there is memory for one is his, until he makes it
 * (`reserve`) or gives it back. False: memory is short. */
bool odi_records_reserve(void);
void odi_records_unreserve(void);

/* A record with an empty job count and these flags, or NULL when memory is short. `reserve`: whether the caller has one reserved, which
 * is his no more where there was no other; NULL: he has none. */
odi_record *odi_record_new(struct odi_team *team, void *queue, struct odi_group *group,
                           uint32_t key, uint32_t flags, const odi_record_owner *owner, bool *reserve);
/* It is empty, and its job count closed by who found that. */
void odi_record_free(odi_record *record);

/* Begins the next generation of a cancelled record, with these flags, as what it was. False: jobs
 * or late counts of its last one are outstanding. Under its queue's lock. */
bool odi_record_renew(odi_record *record, uint32_t flags);

/* Of the records for one queue, group and key, the newest is the one to be found. Those that
 * cancels have closed before stand in its line, the oldest first, to serve again when their jobs
 * have been discarded: there may be thousands, so that nobody walks along it. Under the group's
 * lock, or without one the queue's.
 *
 * The newest, or one from its line, in the next generation that `renew` begins: it is the newest from
 * here on. NULL: their jobs are outstanding. */
odi_record *odi_record_serve_again(odi_record *newest, bool (*renew)(odi_record *record));

/* A record that was not in the line takes the place of the newest, which goes to its end. */
void odi_record_succeed(odi_record *successor, odi_record *newest);

/* Tags that mean something else than a record: label.h's, and jobs that the engine submits to itself, which are
 * not counted and not reported. */
#define ODI_TAG_WRAPPED 1u
#define ODI_TAG_INTERNAL 2u
#define ODI_TAG_FIRST 3u /* of a record */

/* Constant once the first record exists. */
#define ODI_RECORDS (1u << 21)
extern odi_record *odi_record_table;

/* The record behind a tag that is neither 0 nor one that means something else. */
static inline odi_record *odi_record_of(uint32_t tag)
{
    return &odi_record_table[tag];
}

static inline uint64_t odi_counts_outstanding(uint64_t counts)
{
    return counts & ODI_COUNTS_OUTSTANDING;
}

/* Whether a record is still what it was looked up as. Asked again after the count, with L2's fence between; a record
 * that changes hands is marked stale before. L5: who meets the new queue meets its group, too. */
static inline bool odi_record_is(odi_record *record, void *queue, struct odi_group *group)
{
    return odi_load_acquire(&record->queue, L5) == queue &&
           odi_load_relaxed(&record->group) == group; /* relaxed: L5 stands before it */
}

/* Whether the record is empty. With `watching`, whoever ends its last job tells otherwise. */
bool odi_record_is_empty(odi_record *record, bool watching);

/* What was watched is empty: the watch is over, and the watchers, who look again, decide whether to watch on. */
void odi_record_end_watch(odi_record *record);

/* Makes an empty record unknown to its queue or group, `known`. False: it is not empty, and with
 * `watching` it is watched. Under that one's lock. */
bool odi_record_make_unknown(odi_record *record, uint64_t known, bool watching);

/* How a set of records is walked. */
typedef odi_record *odi_record_walk(odi_record *record);

odi_record *odi_record_next_of_queue(odi_record *record);
odi_record *odi_record_next_of_group(odi_record *record);

/* In a forked child: nothing is outstanding here, the parent runs it, and the queues and groups
 * have no records yet. */
void odi_records_forked(void);

#pragma GCC visibility pop

#endif
