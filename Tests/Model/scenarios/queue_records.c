/* queue_records.c — which record a job is counted on, while records change hands: a queue or a group is over, or a
 * queue keeps its line from here on (gate/queue.c, records.c and barrier.c over job/group.c, watch.c and record.c).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "job/record.c"

#include "job/label.c"

#include "job/count.c"

#define take_off take_waiter_off /* group.c has a function of that name */
#include "job/watch.c"
#undef take_off

#include "job/group.c"

#include "gate/queue.c"

#include "gate/records.c"

#include "gate/barrier.c"

#include "queue/fifo.c"

#include "doubles/futex.h"
#include "doubles/never.h"
#include "doubles/records.h"
#include "model/scenario.h"

_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

/* Nothing of these queues is pushed, run or cancelled. */
NEVER(odi_pool_begin)
NEVER(odi_queue_raise)
NEVER(odi_queue_pass_raised)
NEVER(odi_queue_see_to_drainers)
NEVER(odi_queue_settle)
NEVER(odi_queue_settle_and_release)
NEVER(odi_run_outside)
NEVER(odi_run_outside_of)

void odi_queue_carry_out(od_queue *of, odi_settlement settlement) { model_check(settlement.passes == 0); }
bool odi_queue_is_clear(const od_queue *queue) { return true; }
bool odi_queue_has_passes(const od_queue *queue) { return false; }

/* Given back once, and not made again. */
static odi_group group, other_group;
void *odi_arena_take(odi_arena *arena) { model_fail("nothing is made here"); }
void odi_arena_give(odi_arena *arena, void *object) {}
void odi_arena_forked(odi_arena *arena, void (*visit)(void *object)) {}

enum { KEY = 2 };
static od_pool pool;
static od_queue queue, other_queue;
static odi_record *record;

static void make_queue(od_queue *made)
{
    made->pool = &pool;
    made->gate.width = ODI_GATE_UNLIMITED;
    for (uint32_t each = 0; each < ODI_KEYS; each++)
        odi_store_relaxed(&made->current[each], ODI_CURRENT_NONE);
}

static odi_record *find(od_queue *of, odi_group *for_group)
{
    odi_record *found = odi_queue_find_record(of, for_group, KEY, NULL);

    model_check(found != NULL);
    return found;
}

static void prepare(void)
{
    make_queue(&queue);
    make_queue(&other_queue);
    clear(&group);
    clear(&other_group);
}

/* A record of the group for a queue that nobody holds any more. */
static void prepare_group(void)
{
    prepare();
    record = find(&queue, &group);
    queue.released = true;
    model_hint(&record->flags, sizeof record->flags); /* asked again behind the count */
    model_hint(&record->queue, sizeof record->queue);
    model_hint(&record->group, sizeof record->group);
    model_hint(&record->key, sizeof record->key);
}

/* The record of a queue that is over serves another queue and group. Who submits to that queue for the group that
 * it was used last in does not take it for his: it was closed in between (L5). */
static odi_record *counted;

static void queue_is_over(void)
{
    odi_queue_reap(&queue);
    (void)find(&other_queue, &other_group);
}

static void late_submitter(void)
{
    do {
        counted = find(&other_queue, &group);
    } while (!odi_queue_count(counted, &other_queue, &group, KEY, 1));
}

static void verify_counted(void)
{
    model_check(counted != NULL && odi_record_is(counted, &other_queue, &group));
    model_check(odi_counts_outstanding(odi_load_relaxed(&counted->counts)) == 1);
}

MODEL_SCENARIO(record_of_another_queue, prepare_group, verify_counted, queue_is_over, late_submitter)
MODEL_REACHES(record_of_another_queue, counted == record)

/* A group is over while its record is drained for its queue, or while that is over: the group has done with the record
 * before it serves another (L8). */
static void prepare_group_over(void) { prepare_group(); group.given_up = true; }
static void group_is_over(void) { recycle_if_over(&group); }

static bool was_reaped;

static void use_again(void) { was_reaped = find(&other_queue, &other_group) == record; }

static void queue_is_over_first(void) { odi_queue_reap(&queue); use_again(); }
static void record_drains(void) { odi_queue_reap_record(&queue, record); use_again(); }

MODEL_SCENARIO(group_is_over_with_its_queue, prepare_group_over, NULL, group_is_over, queue_is_over_first)
MODEL_REACHES(group_is_over_with_its_queue, was_reaped)
MODEL_SCENARIO(group_is_over_before_its_record, prepare_group_over, NULL, group_is_over, record_drains)
MODEL_REACHES(group_is_over_before_its_record, was_reaped)

/* Two submitters and a queue's first record, or the one that a cancel has closed and that serves again (L5, L6). */
static odi_record *counted_on[2];

static void submitter(void)
{
    odi_record *found;

    do {
        found = find(&queue, NULL);
    } while (!odi_queue_count(found, &queue, NULL, KEY, 1));
    counted_on[model_thread()] = found;
}

static void verify_one_record(void)
{
    odi_record *current = (odi_record *)odi_load_relaxed(odi_queue_current(&queue, KEY));

    model_check(counted_on[0] == current && counted_on[1] == current);
    model_check(odi_counts_outstanding(odi_load_relaxed(&current->counts)) == 2);
}

MODEL_SCENARIO(queue_makes_its_first_record, prepare, verify_one_record, submitter, submitter)
MODEL_REACHES(queue_makes_its_first_record, model_met(0, "make_record") > 0)

/* A queue keeps its line from here on, while somebody submits to it: his job goes into the line, or the look outside
 * finds it (L2). */
static bool went_outside;

static void prepare_open(void)
{
    prepare();
    record = find(&queue, NULL);
    model_hint(&record->flags, sizeof record->flags);
}

static void submit_once(void)
{
    odi_record *found = find(&queue, NULL);

    if (odi_queue_count(found, &queue, NULL, KEY, 1))
        went_outside = (odi_load_relaxed(&found->flags) & ODI_RECORD_DIVERTED) == 0;
}

static void keep_line(void) { odi_queue_keep_line(&queue); }

static void verify_outside(void)
{
    model_check(!(went_outside && queue.gate.complete));
    model_check(went_outside || queue.gate.complete || queue.before != NULL);
}

MODEL_SCENARIO(queue_keeps_its_line, prepare_open, verify_outside, submit_once, keep_line)
MODEL_REACHES(queue_keeps_its_line, went_outside, queue.gate.complete)

/* The record of a queue that is over serves its group again, for a queue that keeps its line: who has it by its old name
 * and counts on it sees that (L5). */
static void prepare_line(void)
{
    prepare_group();
    odi_store_relaxed(&other_queue.inbox.diverted, true); /* relaxed: one thread exists */
    other_queue.gate.closed = other_queue.gate.complete = true;
}

static void serves_the_line(void)
{
    odi_queue_reap(&queue);
    (void)find(&other_queue, &group);
}

static void submits_to_the_line(void)
{
    late_submitter();
    model_check(odi_load_relaxed(&counted->flags) & ODI_RECORD_DIVERTED);
}

MODEL_SCENARIO(record_of_another_queue_with_a_line, prepare_line, verify_counted, serves_the_line, submits_to_the_line)
MODEL_REACHES(record_of_another_queue_with_a_line, counted == record)

/* Or in another band. */
static void serves_another_band(void)
{
    odi_queue_reap(&queue);
    (void)odi_queue_find_record(&other_queue, &group, KEY + 1, NULL);
}

static void submits_in_its_band(void)
{
    late_submitter();
    model_check(odi_record_key(counted) == KEY);
}

MODEL_SCENARIO(record_of_another_band, prepare_group, verify_counted, serves_another_band, submits_in_its_band)
MODEL_REACHES(record_of_another_band, counted == record)

/* Who comes late takes his count back, and tells those who have waited for it: whether he found the record free or in its
 * next life, which does not begin in between. Or he would not know a queue that waits, where its group is over first. */
static bool serves_another;

static void prepare_free(void) { prepare_group(); odi_queue_reap(&queue); }
static void comes_late(void) { model_check(!odi_record_count(record, &queue, &group, 1)); }

static void waits_for_another_queue(void)
{
    odi_set set = odi_queue_set(&other_queue);
    odi_watch_waiter waiter;

    model_hint(&waiter.released, sizeof waiter.released); /* each side adds a bit of its own */
    serves_another = find(&other_queue, &other_group) == record;
    bool empty = odi_watch_begin(&set, &waiter);
    od_group_release(&other_group);
    model_check(empty || odi_watch_sleep(&waiter, ODI_FOREVER));
}

MODEL_SCENARIO(record_that_is_counted_on_late, prepare_free, NULL, comes_late, waits_for_another_queue)
MODEL_REACHES(record_that_is_counted_on_late, serves_another)

/* Nor is he counted by a cancel of the one that it serves: he has not taken it for his. */
static void cancels_another(void)
{
    odi_queue_reap(&queue);
    odi_record *another = find(&other_queue, &other_group);

    model_check(odi_counts_outstanding(odi_or_acqrel(&another->counts, ODI_COUNTS_CLOSED, L11)) == 0);
}

MODEL_SCENARIO(record_of_another_queue_is_cancelled, prepare_group, verify_counted, cancels_another, late_submitter)
MODEL_REACHES(record_of_another_queue_is_cancelled, counted == record)
