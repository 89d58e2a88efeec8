/* record.c — the table of submission records: reserving, creating, reusing and retiring them. Queues and
 * groups call it under their locks. The file never runs or queues a job. */
#include "job/record.h"

#include "job/free_list.h"
#include "os/pages.h"

_Static_assert(sizeof(odi_record) == 2 * ODI_CACHE_LINE, "a record is two cache lines");

/* The table reserves address space for this many records in a process whose space is limited, and half as many, down to
 * the fewest, while that cannot be had. */
#define RECORDS_IN_LIMITED_SPACE (1u << 21)
#define FEWEST_RECORDS (1u << 12)

/* Records that become usable at once: 512 KiB. */
#define RECORDS_COMMITTED (1u << 12)

enum { NEW_AT_ONCE = 32 }; /* one page of records */

odi_record *odi_record_table;
bool (*odi_record_rests_above)(odi_record *record);

static odi_free_list free_records = ODI_FREE_LIST_FOR(odi_record);

/* Protects the numbers below. `unused` counts entries outside the free list that cover reserves: never-used
 * entries and withheld records. */
static odi_lock table_lock;
static uint32_t table_used = ODI_TAG_FIRST, table_places /* usable */, table_most /* reserved */, withheld_count, reserved;
static odi_record *withheld;

static uint32_t unused(void)
{
    return (table_places == 0 ? 0 : table_places - table_used) + withheld_count;
}

static bool make_table(void)
{
    uint32_t places = odi_pages_space_is_limited() ? RECORDS_IN_LIMITED_SPACE : ODI_RECORDS;

    for (; odi_record_table == NULL && places >= FEWEST_RECORDS; places /= 2) {
        table_most = places;
        odi_record_table = odi_pages_reserve_uncommitted(places * sizeof(odi_record));
    }
    return odi_record_table != NULL;
}

/* Whether the table has an unused entry that is not reserved. The caller holds the lock. */
static bool has_room(void)
{
    if (ODI_LIKELY(unused() > reserved))
        return true;
    if ((odi_record_table == NULL && !make_table()) || table_places == table_most ||
        !odi_pages_commit(odi_record_table + table_places, RECORDS_COMMITTED * sizeof(odi_record)))
        return false;
    table_places += RECORDS_COMMITTED;
    return unused() > reserved;
}

/* Takes a free record on which no late submitter counts. */
static odi_record *take_free(void)
{
    odi_record *late = NULL, *record;

    /* L5: a submitter has noted the record's queue and group before it takes its count back. Waits for that
     * happened before the record was freed. */
    while ((record = odi_free_list_take(&free_records)) != NULL &&
           odi_counts_outstanding(odi_load_acquire(&record->counts, L5)) > 0) {
        record->next_of_queue = late;
        late = record;
    }
    while (late != NULL) {
        odi_record *next = late->next_of_queue;

        odi_free_list_give(&free_records, late);
        late = next;
    }
    return record;
}

static void withhold(odi_record *record)
{
    record->next_of_queue = withheld;
    withheld = record;
    withheld_count++;
}

bool odi_records_reserve(void)
{
    odi_lock_acquire(&table_lock);
    bool has = has_room();
    odi_record *record = !has && odi_record_table != NULL ? take_free() : NULL;
    if (record != NULL)
        withhold(record);
    has = has || unused() > reserved;
    reserved += has;
    odi_lock_release(&table_lock);
    return has;
}

void odi_records_unreserve(void)
{
    odi_lock_acquire(&table_lock);
    reserved--;
    odi_lock_release(&table_lock);
}

/* Takes an entry of the table. Lock held. */
static odi_record *take_unused(bool *reserve)
{
    odi_record *record = withheld;

    if (ODI_UNLIKELY(!has_room())) {
        if (reserve == NULL || !*reserve)
            return NULL;
        *reserve = false;
        reserved--;
    }
    if (record != NULL) {
        withheld = record->next_of_queue;
        withheld_count--;
        return record;
    }
    record = odi_record_of(table_used);
    record->tag = table_used++;
    return record;
}

/* Takes a new record from the table, and puts a page of further records on the free list. */
static odi_record *take_new(bool *reserve)
{
    odi_lock_acquire(&table_lock);
    odi_record *record = take_unused(reserve), *next = record;
    for (int i = 1; i < NEW_AT_ONCE && next != NULL && (next = take_unused(NULL)) != NULL; i++)
        odi_free_list_give(&free_records, next);
    odi_lock_release(&table_lock);
    return record;
}

/* Opens the count for the next lifetime or generation; L5 publishes the record's fields. Returns false if
 * counts of the last one are outstanding. */
static bool open_counts(odi_record *record, uint64_t known)
{
    uint64_t counts = odi_load_relaxed(&record->counts); /* relaxed, rechecked by the CAS */
    bool open = false;

    while (!open && odi_counts_outstanding(counts) == 0)
        open = odi_cas_acqrel(&record->counts, &counts, (counts | known) & ~(ODI_COUNTS_CLOSED | ODI_COUNTS_WATCHED), L5);
    return open;
}

odi_record *odi_record_new(struct odi_team *team, void *queue, struct odi_group *group,
                           uint32_t key, uint32_t flags, const odi_record_owner *owner, bool *reserve)
{
    for (;;) {
        odi_record *record = take_free();

        if (record == NULL)
            record = take_new(reserve);
        if (record == NULL)
            return NULL;
        odi_store_relaxed(&record->team, team); /* relaxed, all: L5 carries the fields */
        odi_store_relaxed(&record->group, group);
        odi_store_relaxed(&record->key, key);
        odi_store_release(&record->queue, queue, L5); /* after the fields that tell it from another record of
                                                         the same queue */
        odi_store_relaxed(&record->flags, flags); /* later flags are never added to an open record before
                                                     this: a late count for this queue uses them */
        if (record->owner != owner)
            record->owner = owner; /* avoids a write that would disturb a late reader */
        record->next_of_queue = record->next_of_group = NULL;
        record->link_of_queue = record->link_of_group = NULL;
        record->next_former = record->first_former = record->last_former = NULL;
        record->outside = 0;
        record->next_of_bucket = NULL;
        if (ODI_LIKELY(open_counts(record, ODI_COUNTS_KNOWN)))
            return record;
        odi_record_free(record); /* a late submitter has counted on it in between */
    }
}

void odi_record_free(odi_record *record)
{
    /* relaxed: a holder of a stale record sees this or a later flag, and looks the record up again. */
    odi_store_relaxed(&record->flags, ODI_RECORD_STALE);
    odi_free_list_give(&free_records, record);
}

/* The record stays stale until its count is open, so no thread reserves counts before. A late submitter
 * counts before, which is detected, or on the open count with the new flags. */
bool odi_record_renew(odi_record *record, uint32_t flags)
{
    if (odi_counts_outstanding(odi_load_relaxed(&record->counts)) > 0) /* relaxed: rechecked by open_counts */
        return false;
    odi_store_relaxed(&record->flags, flags | ODI_RECORD_STALE); /* relaxed: L5 publishes it */
    bool open = open_counts(record, 0);
    /* relaxed: under its group's lock, or its queue's */
    odi_store_relaxed(&record->flags, open ? flags : ODI_RECORD_CANCELLED | ODI_RECORD_STALE);
    return open;
}

/* ---- retired records ---- */

/* A retired record that cannot restart goes to the end, so that one long job does not block the others. */
enum { FORMERS_ASKED = 4 };

static void join_line(odi_record *newest, odi_record *former)
{
    former->next_former = NULL;
    if (newest->first_former == NULL)
        newest->first_former = former;
    else
        newest->last_former->next_former = former;
    newest->last_former = former;
}

void odi_record_succeed(odi_record *successor, odi_record *newest)
{
    successor->first_former = newest->first_former;
    successor->last_former = newest->last_former;
    newest->first_former = newest->last_former = NULL;
    join_line(successor, newest);
}

odi_record *odi_record_serve_again(odi_record *newest, bool (*renew)(odi_record *record))
{
    if (renew(newest))
        return newest;
    for (int asked = 0; asked < FORMERS_ASKED && newest->first_former != NULL; asked++) {
        odi_record *oldest = newest->first_former;

        newest->first_former = oldest->next_former;
        if (renew(oldest)) {
            odi_record_succeed(oldest, newest);
            return oldest;
        }
        join_line(newest, oldest);
    }
    return NULL;
}

/* ---- emptiness ---- */

odi_record *odi_record_next_of_queue(odi_record *record)
{
    return record->next_of_queue;
}

odi_record *odi_record_next_of_group(odi_record *record)
{
    return record->next_of_group;
}

bool odi_record_is_empty(odi_record *record, bool watching)
{
    uint64_t counts = odi_load_acquire(&record->counts, L1);

    if (watching && odi_counts_outstanding(counts) > 0)
        counts = odi_or_acqrel(&record->counts, ODI_COUNTS_WATCHED, L1);
    return odi_counts_outstanding(counts) == 0;
}

void odi_record_end_watch(odi_record *record)
{
    uint64_t counts = odi_load_relaxed(&record->counts); /* relaxed, rechecked by the CAS */

    if (odi_counts_outstanding(counts) == 0) /* relaxed: the job that emptied it has read the watchers, and
                                                notifies them */
        (void)odi_cas_relaxed(&record->counts, &counts, counts & ~ODI_COUNTS_WATCHED);
}

bool odi_record_make_unknown(odi_record *record, uint64_t known, bool watching)
{
    do {
        uint64_t counts = odi_load_relaxed(&record->counts); /* relaxed, rechecked by the CAS */

        while (odi_counts_outstanding(counts) == 0) {
            if (odi_cas_acqrel(&record->counts, &counts, counts & ~known, L1))
                return true;
        }
    } while (watching && odi_record_is_empty(record, true));
    return false;
}

/* Resets all records in a forked child, where another thread may have been changing the lists. A record with
 * jobs may belong to a job around the fork. It is not reused, neither here nor in later children, where it
 * also appears to have jobs. */
void odi_records_forked(void)
{
    odi_record *record;

    table_lock = (odi_lock){0};
    free_records = (odi_free_list)ODI_FREE_LIST_FOR(odi_record);
    withheld = NULL;
    withheld_count = 0;
    for (uint32_t i = ODI_TAG_FIRST; i < table_used; i++) {
        record = odi_record_of(i);
        /* relaxed, all: one thread exists */
        bool serves = odi_counts_outstanding(odi_load_relaxed(&record->counts)) > 0;

        if (!serves && odi_record_rests_above != NULL && odi_record_rests_above(record))
            continue;
        odi_store_relaxed(&record->counts, serves ? ODI_COUNTS_OUTSTANDING / 2 : ODI_COUNTS_CLOSED); /* odi_record_new opens it */
        record->cancel_lock = (odi_lock){0};
        if (!serves) {
            record->tag = i; /* another thread may have been about to set it */
            odi_record_free(record);
        }
    }
    while (unused() < reserved && (record = odi_free_list_take(&free_records)) != NULL)
        withhold(record);
}
