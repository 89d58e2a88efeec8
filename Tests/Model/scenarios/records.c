/* records.c — a record begins a new generation while somebody still has it by its old name
 * (job/record.c), and who waits for records is woken by the last job (job/watch.c).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "job/record.c"

#include "job/label.c"

#include "job/count.c"

#include "job/watch.c"

#include "doubles/futex.h"
#include "doubles/records.h"
#include "../Support/job_count.h"
#include "../Support/watch_wait.h"
#include "os/membarrier.h"
#include "model/scenario.h"

_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

static struct odi_team *const no_team;
static odi_record *record;
static odi_watch watch;
static int old_queue, new_queue; /* addresses */
static int written;
static unsigned notified_by; /* which thread */

void odi_group_drained(odi_group *group) { model_check(false); }

void odi_group_know(odi_group *group, odi_record *of)
{
    (void)group, (void)of;
    model_check(false);
}

static const odi_set set = {&watch, &record, odi_record_next_of_queue, ODI_COUNTS_KNOWN_TO_QUEUE, NULL};

static void drained(void *whose, odi_record *of) { odi_watch_changed(&set); }

/* gate/queue.c's */
static void know(odi_record *of)
{
    odi_lock_acquire(&watch.lock);
    (void)odi_or_relaxed(&of->counts, ODI_COUNTS_KNOWN_TO_QUEUE);
    odi_lock_release(&watch.lock);
}

static const odi_record_owner owner = {.drained = drained, .know = know};

static void count(odi_record *on) { model_check(odi_record_count(on, &old_queue, NULL, 1)); }

static odi_record *make(void *queue)
{
    odi_record *made = odi_record_new(no_team, queue, NULL, 2, 0, &owner, NULL);

    model_check(made != NULL);
    model_hint(&made->flags, sizeof made->flags); /* asked again behind the count */
    return made;
}

static void prepare(void) { record = make(&old_queue); }

/* It was closed by a cancel, is empty and free. */
static void prepare_free(void)
{
    prepare();
    (void)odi_or_relaxed(&record->counts, ODI_COUNTS_CLOSED);
    odi_record_free(record);
}

/* gate/queue.c, with a name that is no longer right (L5). */
static odi_record *reborn;
static bool open;

static void late_submitter(void)
{
    open = add_to_counts(record);
    odi_fence_light(L2);
    if (open)
        model_check(!odi_record_is(record, &old_queue, NULL));
    odi_record_complete(record, 1);
}

static void next_life(void)
{
    reborn = make(&new_queue);
    model_check(add_to_counts(reborn));
}

static void verify(void)
{
    model_check(odi_counts_outstanding(odi_load_relaxed(&reborn->counts)) == 1);
    model_check(odi_record_is(reborn, &new_queue, NULL));
}

MODEL_SCENARIO(record_changes_hands, prepare_free, verify, late_submitter, next_life)
MODEL_REACHES(record_changes_hands, open, reborn == record)

/* A waiter and the last two jobs: it wakes, and reads what both wrote (L1). */
static int results[2];

static void prepare_two(void)
{
    prepare();
    count(record);
    count(record);
}
static void prepare_one(void) { prepare(); count(record); }
static void first_job(void) { results[0] = 1; odi_record_complete(record, 1); }
static void second_job(void) { results[1] = 1; odi_record_complete(record, 1); }
static void waiter(void)
{
    model_check(watch_wait(&set, ODI_FOREVER));
    model_check(results[0] == 1 && results[1] == 1);
}
MODEL_SCENARIO(record_wakes_its_waiter, prepare_two, NULL, first_job, second_job, waiter)
MODEL_REACHES(record_wakes_its_waiter, model_slept(2))

/* The deadline comes first, or the waiter is released just then (L10). */
static bool was_released;

static void waiter_whose_deadline_is_over(void)
{
    odi_watch_waiter waiting;

    was_released = odi_watch_begin(&set, &waiting) || odi_watch_sleep(&waiting, 0) ||
                   odi_watch_end(&set, &waiting);
    if (was_released)
        model_check(results[0] == 1);
}
static void prepare_one_deadline(void) { prepare_one(); deadlines_come = true; }
MODEL_SCENARIO(record_is_empty_at_the_deadline, prepare_one_deadline, NULL, first_job, waiter_whose_deadline_is_over)
MODEL_REACHES(record_is_empty_at_the_deadline, was_released)

/* The last job of one record submits to another that was looked at before: this one was made unknown
 * while it was empty, and the watch goes from record to record. */
static odi_record *other;

static void prepare_set(void)
{
    prepare();
    other = make(&old_queue);
    record->next_of_queue = other; /* in this order the waiter looks */
    count(other);
}
static void job_of_other(void)
{
    results[0] = 1;
    count(record);
    odi_record_complete(other, 1);
}
static void job_of_first(void)
{
    /* relaxed: it runs once it has been submitted, and what it writes is its own */
    while (odi_counts_outstanding(odi_load_relaxed(&record->counts)) != 1)
        odi_spin_pause();
    results[1] = 1;
    odi_record_complete(record, 1);
}
MODEL_SCENARIO(record_set_wakes_its_waiter, prepare_set, NULL, job_of_other, job_of_first, waiter)
MODEL_REACHES(record_set_wakes_its_waiter, model_slept(2))

/* One job, a waiter, and one who is to be notified. */
static void notified(void *context)
{
    model_check(results[0] == 1);
    written++;
    notified_by = model_thread();
}
static void notifies(void) { model_check(odi_watch_notify(&set, notified, NULL)); }
static void verify_notified(void) { model_check(written == 1); }
MODEL_SCENARIO(record_notifies_once, prepare_one, verify_notified, first_job, notifies)
MODEL_REACHES(record_notifies_once, notified_by == 0, notified_by == 1)

/* Used again at once: whoever waits by then is released in its own round, and is notified in it. */
static bool again;

static void leave_and_enter(void)
{
    /* relaxed: it begins when somebody watches, which says nothing about what was written */
    while ((odi_load_relaxed(&record->counts) & ODI_COUNTS_WATCHED) == 0)
        odi_spin_pause();
    results[0] = 1;
    odi_record_complete(record, 1);
    again = true;
    count(record);
}
static void waits_for_its_round(void)
{
    model_check(watch_wait(&set, ODI_FOREVER));
    model_check(results[0] == 1);
}
MODEL_SCENARIO(record_used_again, prepare_one, NULL, leave_and_enter, waits_for_its_round)
MODEL_REACHES(record_used_again, model_slept(1))

static void notified_in_its_round(void *context)
{
    model_check(!again);
    written++;
    notified_by = model_thread();
}
static void notifies_in_its_round(void)
{
    model_check(odi_watch_notify(&set, notified_in_its_round, NULL));
}
MODEL_SCENARIO(record_used_again_notifies, prepare_one, verify_notified, leave_and_enter, notifies_in_its_round)
MODEL_ONLY_END(record_used_again_notifies, notified_by == 0)

/* A waiter goes on after the notifications of its moment have been made. */
static void waits_behind_a_notification(void)
{
    odi_watch_waiter waiter;

    model_check(odi_watch_notify(&set, notified, NULL));
    if (!odi_watch_begin(&set, &waiter)) {
        model_check(odi_watch_sleep(&waiter, ODI_FOREVER));
        model_check(written == 1);
    }
}
MODEL_SCENARIO(record_notifies_first, prepare_one, NULL, first_job, waits_behind_a_notification)
MODEL_REACHES(record_notifies_first, notified_by == 0, model_slept(1))

/* Two records, each with a job; one of them is used again when both jobs are over. */
static odi_atomic(bool) first_is_over, waits;

static void prepare_both(void) { prepare_set(); count(record); }
static void first_is_done(void)
{
    odi_record_complete(record, 1);
    odi_store_release(&first_is_over, true, none);
}
static void second_is_used_again(void)
{
    while (!odi_load_relaxed(&waits)) /* relaxed: as above */
        odi_spin_pause();
    odi_record_complete(other, 1);
    while (!odi_load_acquire(&first_is_over, none))
        odi_spin_pause();
    count(other);
}
static void waits_for_both(void)
{
    odi_watch_waiter waiter;
    bool empty = odi_watch_begin(&set, &waiter);

    odi_store_relaxed(&waits, true); /* relaxed: as above */
    model_check(!empty && odi_watch_sleep(&waiter, ODI_FOREVER));
}
MODEL_SCENARIO(record_set_used_again, prepare_both, NULL, first_is_done, second_is_used_again, waits_for_both)
MODEL_REACHES(record_set_used_again, model_slept(2))
