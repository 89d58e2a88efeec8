/* run.c — starts, counts and cancels jobs; run.h states the protocol of a worker's run. Jobs run here on
 * workers and inline on other threads. */
#include "worker/run.h"

#include "base/invariant.h"
#include "job/label.h"
#include "observe/trace.h"
#include "os/thread.h"
#include "sleep/idle.h"
#include "worker/override.h"

#define COUNTED ODI_RUN_COUNTED
#define FLUSHING ODI_RUN_FLUSHING
#define HELD_ONE ODI_RUN_HELD_ONE
#define PLACE_SHIFT 40
#define HELD_MASK ((UINT64_C(1) << PLACE_SHIFT) - HELD_ONE)

/* A run updates the job count at least once per LONGEST_RUN jobs, so that pending counts stay close to the
 * truth. */
enum { LONGEST_RUN = 512, RESERVED = 64, SPINS_BEFORE_YIELD = 100, LOOKS = 8 };

_Static_assert(ODI_RECORDS - 1 <= UINT64_MAX >> PLACE_SHIFT, "a run's word has room for every tag");

static uint64_t place_of(const odi_record *record)
{
    return (uint64_t)record->tag << PLACE_SHIFT;
}

static uint64_t held(uint64_t word)
{
    return (word & HELD_MASK) / HELD_ONE;
}

uint64_t odi_run_held(uint64_t word)
{
    return held(word);
}

uint32_t odi_run_tag(uint64_t word)
{
    return (uint32_t)(word >> PLACE_SHIFT);
}

static bool is_cancelled(odi_record *record)
{
    /* relaxed: a light fence precedes it (L3), or the cancel lock is held */
    return (odi_load_relaxed(&record->flags) & ODI_RECORD_CANCELLED) != 0;
}

/* ---- traces ---- */

/* Writes an event of an unlabelled job. `record` is the job's record, or NULL. */
ODI_COLD static void trace_job(odi_trace_kind kind, odi_record *record, odi_entry job)
{
    /* relaxed: L5 has published the queue to each thread that has a job of it */
    const void *queue = record != NULL ? odi_load_relaxed(&record->queue) : NULL;

    odi_trace(kind, record != NULL ? odi_record_band(record) : ODI_TRACE_NO_BAND, queue, odi_job_identity(job));
}

/* The job may release its queue, which is therefore read before. A child that the job forks writes no event. */
ODI_COLD static void run_traced(odi_record *record, odi_entry job)
{
    /* relaxed: as above */
    const void *queue = record != NULL ? odi_load_relaxed(&record->queue) : NULL;
    uint32_t band = record != NULL ? odi_record_band(record) : ODI_TRACE_NO_BAND;
    uint64_t identity = odi_job_identity(job);

    odi_trace(ODI_TRACE_BEGIN, band, queue, identity);
    odi_job_run(job);
    if (odi_traces())
        odi_trace(ODI_TRACE_END, band, queue, identity);
}

/* For inline execution. The path of a worker's job does the same without a call. */
static void run_or_trace(odi_record *record, odi_entry job)
{
    if (odi_traces())
        run_traced(record, job);
    else
        odi_job_run(job);
}

static void drop_job(odi_record *record, odi_entry job)
{
    if (odi_traces())
        trace_job(ODI_TRACE_CANCEL, record, job);
    odi_job_discard(job);
}

/* ---- ends ---- */

/* Ends a run during a cancel, which must not see the job count and the word disagree. */
ODI_COLD static bool end_under_lock(odi_worker *worker, odi_record *record, uint64_t word)
{
    odi_store_relaxed(&worker->run, word); /* relaxed: clears FLUSHING and publishes nothing else */
    odi_lock_acquire(&record->cancel_lock);
    bool drained = odi_record_subtract(record, held(word));
    odi_store_release(&worker->run, 0, L4);
    odi_lock_release(&record->cancel_lock);
    return drained;
}

/* Wakes the watchers of an empty record. If this wakes a waiter with a band override, the worker yields once.
 * A spare has replaced that waiter's worker, so one thread too many may be awake. Without the yield the
 * waiter could wait for a CPU behind less urgent jobs. */
ODI_COLD static void tell_drained(odi_worker *worker, odi_record *record, odi_watchers watchers)
{
    bool woke_before = odi_woke_a_sleeper;
    bool overridden = odi_load_relaxed(&odi_overrides.bands) != 0; /* relaxed: a hint; wake-ups end it */

    odi_woke_a_sleeper = false;
    odi_record_drained(record, watchers);
    if (odi_woke_a_sleeper && overridden) {
        odi_or_relaxed(&odi_overrides.yields, 1); /* relaxed, both: a hint */
        worker->yields_seen = odi_add_relaxed(&odi_overrides.yields, 2) + 2;
        odi_thread_yield();
        odi_woke_a_sleeper = false;
    }
    odi_woke_a_sleeper |= woke_before;
}

static void end_this_run(odi_worker *worker)
{
    odi_record *record = worker->run_record;
    bool drained;

    odi_watchers watchers = odi_record_watchers(record);
    worker->run_record = NULL;
    worker->reserved = 0; /* included in the word's held count */
    uint64_t word = odi_load_relaxed(&worker->run) & ~COUNTED; /* relaxed: the owner's word */
    if (held(word) == 0) {
        odi_store_relaxed(&worker->run, 0); /* relaxed: publishes nothing new */
        return;
    }
    odi_store_relaxed(&worker->run, word | FLUSHING); /* relaxed: L3's fence follows */
    odi_fence_light(L3);
    if (ODI_UNLIKELY(is_cancelled(record)))
        drained = end_under_lock(worker, record, word);
    else {
        drained = odi_record_subtract(record, held(word));
        odi_store_release(&worker->run, 0, L4);
    }
    /* Last, because a watcher may run any code, even a cancel of this record. */
    if (ODI_UNLIKELY(drained))
        tell_drained(worker, record, watchers);
}

/* A watcher may wait, run a drainer in its wait, and thereby begin another run; so this loops. */
bool odi_worker_end_run(odi_worker *worker)
{
    while (worker->run_record != NULL)
        end_this_run(worker);
    return odi_worker_self == worker;
}

bool odi_worker_reserve_counts(odi_worker *worker)
{
    odi_record *record = worker->run_record;
    uint64_t word = odi_load_relaxed(&worker->run) & ~COUNTED; /* relaxed: the owner's word */

    odi_store_relaxed(&worker->run, word | FLUSHING); /* relaxed: L3's fence follows */
    odi_fence_light(L3);
    /* relaxed: the fence precedes it */
    if (odi_load_relaxed(&record->flags) != 0) {
        odi_store_relaxed(&worker->run, word); /* relaxed: clears FLUSHING and publishes nothing else */
        return false;
    }
    /* L11: acquire, so that a cancel that closed the job count before this addition does not see any later
     * store to the run's word. */
    odi_add_acquire(&record->counts, RESERVED, L11);
    worker->reserved = RESERVED;
    odi_store_relaxed(&worker->run, word + RESERVED * HELD_ONE); /* relaxed: L11; a report reads it as a hint */
    return true;
}

/* ---- starts ---- */

/* relaxed load: the owner's word. The release makes a report's count carry the job's writes, and whether a
 * job runs. */
static void toggle_in_job(odi_worker *worker)
{
    odi_store_release(&worker->jobs, odi_load_relaxed(&worker->jobs) + 1, W2);
}

/* Takes a toggle back, because the job will not run. */
static void is_in_no_job(odi_worker *worker)
{
    /* relaxed, both: the owner's word, restored to its previous value */
    odi_store_relaxed(&worker->jobs, odi_load_relaxed(&worker->jobs) - 1);
}

/* Ends a run that holds no job. The following callback then runs in no job of the queue, and draws no counts
 * on a record that may be freed. */
static void leave_empty_run(odi_worker *worker)
{
    if (worker->run_record != NULL && held(odi_load_relaxed(&worker->run)) == 0) /* relaxed: the owner's word */
        end_this_run(worker);
}

/* The record has flags. Decides whether a job that the run's word already holds may start. */
ODI_COLD static odi_start decide(odi_worker *worker, odi_record *record)
{
    odi_lock_acquire(&record->cancel_lock);
    uint64_t word = odi_load_relaxed(&worker->run); /* relaxed: cancels hold the lock */
    bool cancelled = is_cancelled(record);
    bool starts = (word & COUNTED) != 0;
    if (!starts) {
        odi_store_relaxed(&worker->run, word - HELD_ONE); /* relaxed: under the lock */
        is_in_no_job(worker);
    }
    odi_lock_release(&record->cancel_lock);

    if (starts)
        return ODI_STARTS; /* a canceller has counted it as started */
    leave_empty_run(worker);
    return cancelled ? ODI_CANCELLED : ODI_DIVERTED;
}

/* The record has flags. Returns false if the job was discarded or diverted. */
ODI_COLD static bool may_start(odi_worker *worker, odi_record *record, odi_entry job)
{
    odi_start start = decide(worker, record);

    if (start == ODI_CANCELLED) {
        drop_job(record, job);
        odi_record_complete(record, 1);
    } else if (start == ODI_DIVERTED) {
        odi_count(&worker->counters.diverted, 1);
        record->owner->divert(record, job);
    }
    return start == ODI_STARTS;
}

/* Starts a run of `record`. Returns false like odi_worker_end_run. */
static bool begin_run(odi_worker *worker, odi_record *record)
{
    if (ODI_UNLIKELY(!odi_worker_end_run(worker)))
        return false;
    worker->run_record = record;
    odi_store_relaxed(&worker->run, place_of(record)); /* relaxed: holds no job yet */
    /* relaxed: a hint for reports */
    odi_store_relaxed(&worker->queue_running, odi_load_relaxed(&record->queue));
    return true;
}

/* Cancels a job that has not begun when the deadline of a stop passes. The lock makes a report count the job
 * exactly once. */
ODI_COLD static void leave_unbegun(odi_worker *worker, odi_entry job)
{
    odi_team *team = worker->team;

    drop_job(NULL, job);
    odi_lock_acquire(&team->lock);
    is_in_no_job(worker);
    odi_add_relaxed(&team->cancelled, 1); /* relaxed: a counter */
    odi_lock_release(&team->lock);
}

/* Puts a job into the worker's run. Returns false in a forked child, where the job belongs to the parent. */
ODI_HOT_INLINE bool hold(odi_worker *worker, odi_record *record)
{
    uint64_t word = odi_load_relaxed(&worker->run) & ~COUNTED; /* relaxed: the owner's word */

    if (ODI_UNLIKELY(worker->run_record != record || held(word) >= LONGEST_RUN)) {
        if (!begin_run(worker, record))
            return false;
        word = place_of(record);
    }
    toggle_in_job(worker);
    odi_store_release(&worker->run, word + HELD_ONE, L4);
    odi_fence_light(L3);
    return true;
}

/* Whether no flag of `heed` concerns a job of hold(). */
ODI_HOT_INLINE bool has_no_flag(odi_record *record, uint32_t heed)
{
    return ODI_LIKELY((odi_load_relaxed(&record->flags) & heed) == 0); /* relaxed: hold's fence precedes it */
}

/* Begins a job. Returns false if the job must not run here. */
ODI_HOT_INLINE bool begin(odi_worker *worker, odi_record *record, odi_entry job, uint32_t heed)
{
    return hold(worker, record) && (has_no_flag(record, heed) || may_start(worker, record, job));
}

void odi_worker_run(odi_worker *worker, odi_entry job, uint32_t heed)
{
    bool counts = odi_job_tag(job) != ODI_TAG_INTERNAL;
    odi_record *record = odi_record_unlabel(&job);

    if (record != NULL) {
        if (!begin(worker, record, job, heed))
            return;
    } else if (ODI_UNLIKELY(!counts)) {
        odi_job_run(job);
        return;
    } else {
        if (ODI_UNLIKELY(!odi_worker_end_run(worker)))
            return; /* in a forked child: the job belongs to the parent */
        odi_store_relaxed(&worker->queue_running, NULL); /* relaxed: a hint for reports */
        toggle_in_job(worker);
        odi_fence_light(S4); /* a report finds the job begun, or this thread sees that the deadline has passed */
        /* relaxed: the fence precedes it */
        if (ODI_UNLIKELY(odi_load_relaxed(&worker->team->attention) & ODI_CANCELLING)) {
            leave_unbegun(worker, job);
            return;
        }
        worker->context = job.context;
        worker->within = 0;
    }

    if (odi_traces())
        run_traced(record, job);
    else
        odi_job_run(job);
    toggle_in_job(worker);
}

bool odi_worker_put_next(odi_worker *worker, odi_record *record, void *task)
{
    if (worker->next_task != NULL || !odi_worker_use_reserved(worker, record))
        return false;
    worker->next_record = record;
    worker->next_task = task;
    return true;
}

void *od_next_task(void)
{
    odi_worker *worker = odi_worker_self;

    /* A job that runs inside a wait of the job that has put the task leaves it there. */
    if (worker == NULL || worker->next_task == NULL || odi_outsides != NULL || odi_scopes != NULL)
        return NULL;
    void *task = worker->next_task;

    worker->next_task = NULL;
    toggle_in_job(worker); /* the job that called has ended */
    if (ODI_LIKELY(begin(worker, worker->next_record, odi_job_plain(od_task_run, task, 0),
                         ODI_RECORD_CANCELLED | ODI_RECORD_DIVERTED)))
        return task;
    if (odi_worker_self == worker)
        is_in_no_job(worker); /* odi_worker_run ends the job once more */
    return NULL;
}

odi_start odi_worker_begin_within(odi_worker *worker, odi_record *record, uint32_t heed)
{
    odi_start start = ODI_CANCELLED;

    is_in_no_job(worker);
    if (ODI_LIKELY(hold(worker, record))) {
        start = has_no_flag(record, heed) ? ODI_STARTS : decide(worker, record);
        if (ODI_LIKELY(start == ODI_STARTS)) {
            if (odi_traces()) /* relaxed: as in trace_job */
                odi_trace(ODI_TRACE_BEGIN, odi_record_band(record), odi_load_relaxed(&record->queue), 0);
            return start;
        }
        odi_record_complete(record, 1);
    }
    (void)odi_worker_end_run(worker);
    odi_store_relaxed(&worker->queue_running, NULL); /* relaxed: a hint for reports */
    toggle_in_job(worker);
    return start;
}

void odi_worker_end_within(odi_worker *worker)
{
    if (odi_traces()) /* relaxed: the owner's word */
        odi_trace(ODI_TRACE_END, ODI_TRACE_NO_BAND, odi_load_relaxed(&worker->queue_running), 0);
    toggle_in_job(worker);
    if (odi_worker_end_run(worker)) {
        odi_store_relaxed(&worker->queue_running, NULL); /* relaxed: a hint for reports */
        toggle_in_job(worker);
    }
}

/* ---- inline execution, outside a worker's run ---- */

/* Runs the job as one of `record`, for reports and for closures that ask for their queue. */
static void run_as(odi_record *record, odi_entry job)
{
    odi_outside here = {record, odi_scopes, odi_outsides};
    odi_worker *worker = odi_worker_self;
    /* relaxed, all: hints for reports */
    void *below = worker != NULL ? odi_load_relaxed(&worker->queue_running) : NULL;

    odi_outsides = &here;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, odi_load_relaxed(&record->queue));
    run_or_trace(record, job);
    odi_outsides = here.outer;
    if (worker != NULL)
        odi_store_relaxed(&worker->queue_running, below);
}

bool odi_run_outside_of(odi_record *record, odi_entry job)
{
    bool starts = true, drained;

    odi_lock_acquire(&record->cancel_lock);
    starts = !is_cancelled(record);
    record->outside += starts;
    odi_lock_release(&record->cancel_lock);

    if (starts) {
        run_as(record, job);
        /* relaxed, both: L5 shows the team to every holder of a job of the record; a counter */
        odi_add_relaxed(&odi_load_relaxed(&record->team)->ran_outside, 1);
    } else
        drop_job(record, job);

    odi_lock_acquire(&record->cancel_lock);
    odi_watchers watchers = odi_record_watchers(record);
    record->outside -= starts;
    drained = odi_record_subtract(record, 1);
    odi_lock_release(&record->cancel_lock);
    if (drained)
        odi_record_drained(record, watchers);
    return starts;
}

uint64_t odi_records_running_outside(odi_record *first, odi_record_walk *next)
{
    uint64_t running = 0;

    for (odi_record *record = first; record != NULL; record = next(record)) {
        /* relaxed: a hint. It skips records without jobs, of which there may be thousands. */
        if (odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0)
            continue;
        odi_lock_acquire(&record->cancel_lock);
        running += record->outside;
        odi_lock_release(&record->cancel_lock);
    }
    return running;
}

bool odi_run_outside(odi_team *team, odi_entry job)
{
    bool counts = odi_job_tag(job) != ODI_TAG_INTERNAL;
    odi_record *record = odi_record_unlabel(&job);

    if (record != NULL)
        return odi_run_outside_of(record, job);
    if (counts)
        run_or_trace(NULL, job);
    else
        odi_job_run(job);
    odi_add_relaxed(&team->ran_outside, counts); /* relaxed: a counter */
    return true;
}

_Thread_local bool odi_discarding __attribute__((tls_model("initial-exec")));

/* Removes one job that will not run from its record's count. Returns false if a cancel has counted the job;
 * the count still includes it. */
static bool uncount(odi_record *record)
{
    odi_lock_acquire(&record->cancel_lock);
    bool counted = is_cancelled(record);
    odi_watchers watchers = odi_record_watchers(record);
    bool drained = !counted && odi_record_subtract(record, 1);
    odi_lock_release(&record->cancel_lock);
    if (drained)
        odi_record_drained(record, watchers);
    return !counted;
}

bool odi_record_withdraw(odi_record *record, odi_entry job)
{
    bool withdrawn = uncount(record);

    if (odi_traces())
        trace_job(ODI_TRACE_CANCEL, record, job);
    if (!withdrawn) {
        odi_job_discard(job); /* before the count, so that a waiter for the record finds the job gone */
        odi_record_complete(record, 1);
    }
    return withdrawn;
}

void odi_run_discard(odi_team *team, odi_entry job)
{
    bool counts = odi_job_tag(job) != ODI_TAG_INTERNAL;
    odi_record *record = odi_record_unlabel(&job);

    if (!counts) {
        bool outer = odi_discarding;

        odi_discarding = true;
        odi_job_run(job);
        odi_discarding = outer;
        return;
    }
    drop_job(record, job);
    bool counted = record != NULL && !uncount(record); /* the cancel of its record has counted it */
    if (counted)
        odi_record_complete(record, 1);
    odi_add_relaxed(&team->cancelled, !counted); /* relaxed: a counter */
}

/* ---- counting by other threads ---- */

odi_record *odi_worker_run_record(odi_worker *worker)
{
    uint64_t word = odi_load_relaxed(&worker->run); /* relaxed: a record's memory stays readable for the life
                                                       of the process */

    return held(word) > 0 ? odi_record_of((uint32_t)(word >> PLACE_SHIFT)) : NULL;
}

/* Returns the word of the worker's run if the run belongs to `record`, otherwise 0. The word is never
 * FLUSHING. */
static uint64_t run_of(odi_worker *worker, const odi_record *record)
{
    for (int spins = 0;; spins++) {
        uint64_t word = odi_load_acquire(&worker->run, L4);

        if (word >> PLACE_SHIFT != place_of(record) >> PLACE_SHIFT)
            return 0;
        if (!(word & FLUSHING))
            return word;
        if (spins < SPINS_BEFORE_YIELD) /* ended by the owner, two stores later */
            odi_spin_pause();
        else
            odi_thread_give_way(spins - SPINS_BEFORE_YIELD);
    }
}

static uint64_t less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

static uint64_t outstanding(odi_record *record)
{
    return odi_counts_outstanding(odi_load_acquire(&record->counts, L1));
}

/* Returns the jobs in the runs' words that are not running: finished jobs that no job count shows yet, and
 * reserved counts. Reads the word before the mark of a running job, which a start writes before the word. */
static uint64_t held_by_runs(odi_team *team, const odi_record *record)
{
    odi_worker *worker;
    uint64_t sum = 0;

    for (int slot = 0; team != NULL && (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        uint64_t word = run_of(worker, record);
        uint64_t in_job = odi_load_relaxed(&worker->jobs) & 1; /* relaxed: L4 precedes it */

        sum += less(held(word), in_job);
    }
    return sum;
}

/* Repeats if the job count fell in between: a run that has ended is in no word. */
uint64_t odi_record_pending(odi_team *team, odi_record *record)
{
    uint64_t before = outstanding(record), lowest = before;
    bool fell = before != 0; /* skips records without jobs, of which there may be thousands */

    for (int looks = 0; looks < LOOKS && fell; looks++) {
        uint64_t pending = less(before, held_by_runs(team, record)), now = outstanding(record);

        lowest = pending < lowest ? pending : lowest;
        fell = now < before;
        before = now;
    }
    return before == 0 ? 0 : lowest > 0 ? lowest : 1;
}

/* ---- cancelling ---- */

/* Returns the number of jobs of `record` in the worker's run, and marks them as counted as started. */
static uint64_t count_started(odi_worker *worker, odi_record *record)
{
    uint64_t word;

    do {
        word = run_of(worker, record);
        if (word == 0)
            return 0;
        /* relaxed: the mark is read under the lock */
    } while (!odi_cas_relaxed(&worker->run, &word, word | COUNTED));
    return held(word);
}

typedef struct {
    int from, to;
} slot_range;

/* Returns the range of slots whose workers have a run, after L3's fence. A run that begins later sees the flags of
 * all cancelled records, so a canceller of many records need not look at the other slots again. */
static slot_range slots_with_runs(odi_team *team)
{
    odi_worker *worker;
    slot_range found = {0, 0};

    for (int slot = 0; (worker = odi_team_next_worker(team, &slot)) != NULL;) {
        if (odi_load_acquire(&worker->run, L4) == 0)
            continue;
        if (found.to == 0)
            found.from = slot - 1;
        found.to = slot;
    }
    return found;
}

/* Closes one record after L3's fence, with its cancel lock held. Returns the number of its jobs that will
 * never run. */
static uint64_t close_cancelled(odi_team *team, slot_range with_runs, odi_record *record)
{
    odi_worker *worker;
    uint64_t started = record->outside;

    for (int slot = with_runs.from; slot < with_runs.to && (worker = odi_team_next_worker(team, &slot)) != NULL;)
        started += count_started(worker, record);
    uint64_t before = odi_or_acqrel(&record->counts, ODI_COUNTS_CLOSED, L11); /* and L1 */

    odi_invariant(odi_counts_outstanding(before) >= started);
    return odi_counts_outstanding(before) - started;
}

/* Holds each record's cancel lock from setting its flag to closing its count. A thread that waits for a
 * cancel lock holds no other lock. */
uint64_t odi_record_cancel(odi_team *team, odi_record *first, const odi_record *end)
{
    odi_record *record;
    uint64_t never = 0;

    for (record = first; record != end; record = record->next_of_queue) {
        odi_lock_acquire(&record->cancel_lock);
        odi_or_relaxed(&record->flags, ODI_RECORD_CANCELLED | ODI_RECORD_STALE); /* relaxed: L3's fence follows */
    }
    if (first == end)
        return 0;
    odi_fence_heavy(L3);
    slot_range with_runs = slots_with_runs(team);
    for (record = first; record != end; record = record->next_of_queue) {
        never += close_cancelled(team, with_runs, record);
        odi_lock_release(&record->cancel_lock);
    }
    odi_add_relaxed(&team->cancelled, never); /* relaxed: a counter */
    return never;
}
