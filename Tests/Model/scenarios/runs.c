/* runs.c — starts, ends, reserved counts and counts against a cancel (worker/run.c over
 * job/record.c): each job that was accepted runs, or is one of those that the cancel counted;
 * none is both, and the job count is empty in the end.
 */

#include "doubles/lock.h"

#include "job/record.c"

#include "job/label.c"

#include "job/count.c"

#include "worker/run.c"

#include "worker/self.c"

#include "gate/asking.c"

#include "doubles/futex.h"
#include "doubles/no_forks.h"
#include "doubles/no_overrides.h"
#include "doubles/records.h"
#include "doubles/thread_self.h"
#include "model/scenario.h"

_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

static odi_team team;
static odi_worker workers[2];
static odi_atomic(odi_worker *) slots[2];
static odi_record *record;
static od_queue queue, other_queue;

static unsigned accepted[MODEL_ROWS], ran[MODEL_ROWS], drains[MODEL_ROWS];
static uint64_t never;
static int written[2]; /* by the bodies */

void odi_group_drained(odi_group *group)
{
    model_check(false); /* no group is watched */
}

void odi_group_know(odi_group *group, odi_record *of)
{
    (void)group, (void)of;
    model_check(false);
}

static void queue_drained(void *whose, odi_record *of)
{
    model_check(whose == &queue && of == record);
    drains[model_thread()]++;
}

static const odi_record_owner owner = {.drained = queue_drained};

static void body(void *context)
{
    unsigned n = (unsigned)(uintptr_t)context;

    written[n]++; /* twice by two threads is a race, and is found */
    ran[model_thread()]++;
}

static odi_entry job(unsigned n) { return odi_job_plain(body, (void *)(uintptr_t)n, record->tag); }

/* What gate/queue.c does from a thread that has no reserved counts. */
static bool count_one(void)
{
    bool open = odi_record_count(record, &queue, NULL, 1);

    accepted[model_thread()] += open;
    return open;
}

static void prepare(void)
{
    team.capacity = 2;
    team.slots = slots;
    for (int slot = 0; slot < 2; slot++) {
        workers[slot].team = &team;
        workers[slot].slot = slot;
        odi_store_relaxed(&slots[slot], &workers[slot]);
    }
    record = odi_record_new(&team, &queue, NULL, 2, 0, &owner, NULL);
    model_check(record != NULL);
    model_hint(&record->flags, sizeof record->flags); /* looked at again under the cancel lock */
}
static void prepare_one(void) { prepare(); (void)count_one(); }
static void prepare_two(void) { prepare_one(); (void)count_one(); }

static void verify(void)
{
    model_check(model_sum(ran) + never == model_sum(accepted));
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0);
    model_check(odi_load_relaxed(&team.cancelled) == never);
    for (int slot = 0; slot < 2; slot++)
        model_check(workers[slot].run_record == NULL && odi_load_relaxed(&workers[slot].run) == 0);
}

static void end_run(odi_worker *worker)
{
    odi_worker_self = worker;
    odi_worker_end_run(worker);
}

static void run_job(odi_worker *worker, unsigned n)
{
    odi_worker_self = worker;
    odi_worker_run(worker, job(n), ODI_RECORD_CANCELLED | ODI_RECORD_DIVERTED);
}

static void first_runs_one(void) { run_job(&workers[0], 0); end_run(&workers[0]); }
static void first_runs_two(void)
{
    run_job(&workers[0], 0);
    run_job(&workers[0], 1);
    end_run(&workers[0]);
}
static void first_runs_two_apart(void)
{
    run_job(&workers[0], 0);
    end_run(&workers[0]);
    run_job(&workers[0], 1);
    end_run(&workers[0]);
}
static void second_runs_other(void) { run_job(&workers[1], 1); end_run(&workers[1]); }
static void first_starts(void) { run_job(&workers[0], 0); }
static void second_starts(void) { run_job(&workers[1], 1); }
static void cancel(void) { never = odi_record_cancel(&team, record, record->next_of_queue); }

/* The start of one job; of two in one run; of two in two runs (L3, L4). */
MODEL_SCENARIO(runs_start, prepare_one, verify, first_runs_one, cancel)
MODEL_REACHES(runs_start, never == 1)
MODEL_SCENARIO(runs_one_run, prepare_two, verify, first_runs_two, cancel)
MODEL_REACHES(runs_one_run, never == 0, never == 1, never == 2)
MODEL_SCENARIO(runs_two_runs, prepare_two, verify, first_runs_two_apart, cancel)
MODEL_REACHES(runs_two_runs, never == 0, never == 1, never == 2)

/* Two workers; their runs end later, or the size is beyond reach. */
static void verify_after_the_ends(void)
{
    end_run(&workers[0]);
    end_run(&workers[1]);
    verify();
}
MODEL_SCENARIO(runs_two_workers, prepare_two, verify_after_the_ends, first_starts, second_starts, cancel)
MODEL_REACHES(runs_two_workers, never == 0, never == 1, never == 2)

/* A worker's runs of two records, each of which somebody cancels: their locks are two, and their words one. */
static odi_record *other;
static uint64_t never_of_other;

static void prepare_two_records(void)
{
    prepare_one();
    other = odi_record_new(&team, &queue, NULL, 2, 0, &owner, NULL);
    model_check(other != NULL);
    model_hint(&other->flags, sizeof other->flags); /* as that of the first one */
    accepted[0] += odi_record_count(other, &queue, NULL, 1);
}
static void first_runs_one_of_each(void)
{
    run_job(&workers[0], 0);
    odi_worker_run(&workers[0], odi_job_plain(body, (void *)1, other->tag), ODI_RECORD_CANCELLED);
    end_run(&workers[0]);
}
static void cancel_other(void) { never_of_other = odi_record_cancel(&team, other, other->next_of_queue); }
static void verify_two_records(void)
{
    model_check(written[0] + (int)never == 1 && written[1] + (int)never_of_other == 1);
    model_check(odi_load_relaxed(&team.cancelled) == never + never_of_other);
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0);
    model_check(odi_counts_outstanding(odi_load_relaxed(&other->counts)) == 0);
    model_check(workers[0].run_record == NULL && odi_load_relaxed(&workers[0].run) == 0);
}
MODEL_SCENARIO(runs_of_two_records, prepare_two_records, verify_two_records, first_runs_one_of_each, cancel, cancel_other)
MODEL_REACHES(runs_of_two_records, never == 1 && never_of_other == 1, never == 1 && never_of_other == 0,
              never == 0 && never_of_other == 1, never == 0 && never_of_other == 0)

/* One cancel of both, behind one fence. */
static void prepare_chain(void) { prepare_two_records(); record->next_of_queue = other; }
static void cancel_chain(void) { never = odi_record_cancel(&team, record, NULL); }
static void verify_chain(void)
{
    model_check(written[0] + written[1] + (int)never == 2);
    model_check(odi_load_relaxed(&team.cancelled) == never);
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0);
    model_check(odi_counts_outstanding(odi_load_relaxed(&other->counts)) == 0);
}
MODEL_SCENARIO(runs_of_two_records_in_a_chain, prepare_chain, verify_chain, first_runs_one_of_each, cancel_chain)
MODEL_REACHES(runs_of_two_records_in_a_chain, never == 0, never == 1, never == 2)

/* A job of no record goes on as one of the record, or learns that the cancel has counted that; and one whose
 * count is asked for. */
static unsigned cancelled_within;

static void prepare_outer(void) { prepare(); toggle_in_job(&workers[0]); }
static void first_goes_on(void)
{
    odi_worker_self = &workers[0];
    if (!count_one())
        return;
    if (odi_worker_begin_within(&workers[0], record, ODI_RECORD_CANCELLED) == ODI_STARTS) {
        body(NULL);
        odi_worker_end_within(&workers[0]);
    } else
        cancelled_within++;
}
static void verify_outer(void)
{
    verify();
    model_check(cancelled_within == never);
    model_check(odi_load_relaxed(&workers[0].jobs) == 2 * (uint64_t)model_sum(ran) + 1);
}
MODEL_SCENARIO(runs_within, prepare_outer, verify_outer, first_goes_on, cancel)
MODEL_REACHES(runs_within, never == 1, model_sum(accepted) == 0)

static bool was_seen_done, was_seen_pending;

static void ask_for_it(void)
{
    bool came = odi_counts_outstanding(odi_load_acquire(&record->counts, L1)) > 0;
    bool done = odi_worker_executed(&workers[0]) == 1;

    was_seen_pending = odi_record_pending(&team, record) > 0;
    model_check(!(done || (came && !was_seen_pending)) || written[0] == 1);
    was_seen_done = done;
}
MODEL_SCENARIO(runs_within_are_reported, prepare_outer, verify_outer, first_goes_on, ask_for_it)
MODEL_REACHES(runs_within_are_reported, was_seen_done, was_seen_pending)

/* A job that submits another to its own record, in advance if it may. */
static bool followed;

static void submitting_body(void *context)
{
    odi_worker *worker = context;

    ran[model_thread()]++;
    if (odi_worker_use_reserved(worker, record)) {
        accepted[model_thread()]++;
        followed = true;
    } else
        followed = count_one();
}
static void first_submits(void)
{
    odi_worker_self = &workers[0];
    odi_worker_run(&workers[0], odi_job_plain(submitting_body, &workers[0], record->tag), ODI_RECORD_CANCELLED);
    if (followed)
        run_job(&workers[0], 1);
    end_run(&workers[0]);
}
MODEL_SCENARIO(runs_reserved_counts, prepare_one, verify, first_submits, cancel)
MODEL_REACHES(runs_reserved_counts, model_sum(ran) == 0, model_sum(ran) == 1 && never == 1, model_sum(ran) == 2)

/* The reserved count was drawn before. */
static void prepare_drawn(void)
{
    prepare_one();
    workers[0].run_record = record;
    odi_store_relaxed(&workers[0].run, place_of(record));
    model_check(odi_worker_reserve_counts(&workers[0]));
}
MODEL_SCENARIO(runs_reserved_counts_drawn, prepare_drawn, verify, first_submits, cancel)
MODEL_REACHES(runs_reserved_counts_drawn, model_sum(ran) == 0, model_sum(ran) == 1 && never == 1, model_sum(ran) == 2)

/* A thread that is no worker runs one (K1), and one that submits meanwhile. */
static void outside_runs(void) { (void)odi_run_outside(&team, job(0)); }
static void outside_submits(void)
{
    if (count_one())
        (void)odi_run_outside(&team, job(1));
}
MODEL_SCENARIO(runs_outside, prepare_one, verify, outside_runs, cancel)
MODEL_REACHES(runs_outside, never == 1)
MODEL_SCENARIO(runs_outside_submits, prepare_one, verify_after_the_ends, first_starts, outside_submits, cancel)
MODEL_REACHES(runs_outside_submits, never == 0, never == 2, accepted[1] == 0)

/* A stop discards a job that a cancel counts, or does not. */
static void discard(void) { odi_run_discard(&team, job(0)); }
static void verify_discard(void)
{
    model_check(model_sum(ran) == 0);
    model_check(odi_load_relaxed(&team.cancelled) == 1); /* by one of the two, not by both */
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 0);
}
MODEL_SCENARIO(runs_discard, prepare_one, verify_discard, discard, cancel)
MODEL_REACHES(runs_discard, never == 1)

/* What the bodies wrote is readable by whoever saw the job count empty (L1), and by whoever saw
 * them counted as done (W2). */
static void prepare_watched(void)
{
    prepare_two();
    model_check(!odi_record_is_empty(record, true));
}
static bool was_seen_empty;

static void look_at_ledger(void)
{
    was_seen_empty = odi_record_is_empty(record, false);
    if (was_seen_empty)
        model_check(written[0] == 1 && written[1] == 1);
}
static void verify_drained(void) { model_check(model_sum(ran) == 2 && model_sum(drains) == 1); }
MODEL_SCENARIO(runs_are_seen, prepare_watched, verify_drained, first_runs_one, second_runs_other, look_at_ledger)
MODEL_REACHES(runs_are_seen, was_seen_empty, drains[0] == 1)

static void report(void)
{
    was_seen_done = odi_worker_executed(&workers[0]) == 1;
    if (was_seen_done)
        model_check(written[0] == 1);
}
MODEL_SCENARIO(runs_are_reported, prepare_one, NULL, first_runs_one, report)
MODEL_REACHES(runs_are_reported, was_seen_done)

/* What is asked for from outside while jobs begin, end and are told: what is no longer pending is seen (L1), and a
 * job that begins is not taken for one that is done (L4, W2). */
static uint64_t pending;

static void ask(void)
{
    pending = odi_record_pending(&team, record);
    if (pending == 0)
        model_check(written[0] == 1 && written[1] == 1);
}
static void first_begins(void)
{
    odi_worker_self = &workers[0];
    model_check(begin(&workers[0], record, job(0), ODI_RECORD_CANCELLED));
}
static void ask_only(void) { pending = odi_record_pending(&team, record); }
static void verify_one_left(void)
{
    model_check(odi_record_pending(&team, record) == 1); /* the other is done, and told to no job count */
}
MODEL_SCENARIO(runs_pending, prepare_two, verify, first_runs_two, ask)
MODEL_REACHES(runs_pending, pending == 0, pending == 1, pending == 2)
MODEL_SCENARIO(runs_pending_rest, prepare_two, verify_one_left, first_starts, ask)
MODEL_REACHES(runs_pending_rest, pending == 1)
MODEL_SCENARIO(runs_pending_begins, prepare_two, NULL, first_begins, ask_only)
MODEL_ONLY_END(runs_pending_begins, pending == 2)

/* A job is done, and its run is told to the job count, before a cancel or behind it: all the while one is pending, or
 * is cancelled and not discarded yet (L4). */
static void prepare_one_done(void) { prepare_two(); run_job(&workers[0], 0); }
static void prepare_one_done_and_a_cancel(void) { prepare_one_done(); cancel(); }
static void first_ends(void) { end_run(&workers[0]); }
MODEL_SCENARIO(runs_pending_told, prepare_one_done, NULL, first_ends, ask_only)
MODEL_ONLY_END(runs_pending_told, pending == 1)
MODEL_SCENARIO(runs_pending_told_to_a_cancelled, prepare_one_done_and_a_cancel, NULL, first_ends, ask_only)
MODEL_ONLY_END(runs_pending_told_to_a_cancelled, pending == 1)

/* A worker whose run has held a job of one queue begins one of another: it is never said to run one of the first (W2). */
static odi_record *other_record;
static bool was_seen_running;

static void prepare_other(void)
{
    prepare_one();
    run_job(&workers[0], 0);
    other_record = odi_record_new(&team, &other_queue, NULL, 2, 0, &owner, NULL);
    model_check(odi_record_count(other_record, &other_queue, NULL, 1));
}
static void first_begins_other(void)
{
    odi_worker_self = &workers[0];
    model_check(begin(&workers[0], other_record, job(1), ODI_RECORD_CANCELLED));
}
static void ask_who_runs(void)
{
    model_check(running_on_workers(&team, &queue) == 0);
    was_seen_running = running_on_workers(&team, &other_queue) == 1;
}
MODEL_SCENARIO(runs_another_queues_job, prepare_other, NULL, first_begins_other, ask_who_runs)
MODEL_REACHES(runs_another_queues_job, was_seen_running)

/* A record that a cancel has closed serves again, while somebody submits who found it before: what he counts then is
 * not taken for cancelled (L5). */
static void prepare_cancelled(void) { prepare(); cancel(); }
static void serve_again(void) { (void)odi_record_renew(record, 0); }
MODEL_SCENARIO(runs_on_a_record_that_serves_again, prepare_cancelled, verify, serve_again, outside_submits)
MODEL_REACHES(runs_on_a_record_that_serves_again, model_sum(ran) == 1)
