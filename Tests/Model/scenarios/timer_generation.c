/* timer_generation.c — one timer's call, its cancel and its end (gate/timer.c on timer/timer_queue.c): the
 * end comes once, after every call; none begins after a cancel has returned; who finds the
 * timer over sees what its calls wrote; the pool may be freed then, beside a cancel; and the last
 * reference frees the timer.
 *
 * A queue is here the thread that found the timer due.
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "sleep/idle.c"

#include "timer/timer_queue.c"
#include "timer/wheel.c"

#include "gate/timer.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/pages.h"
#include "doubles/thread_self.h"
#include "doubles/never.h"
#include "model/scenario.h"

NEVER(od_queue_sync_end)
NEVER(odi_pool_begin)
NEVER(odi_queue_key)
NEVER(odi_queue_make_current)
NEVER(odi_queue_try_enter)
NEVER(odi_record_count_slowly)
NEVER(odi_record_drained)
NEVER(odi_run_outside_of)
NEVER(odi_timer_thread_begin_call)
NEVER(odi_timer_thread_end_call)

static od_pool pool;
static od_queue queue;
static odi_timer_wheel wheel;
static od_timer *timer;
static unsigned calls, overs, cancels_returned;
static unsigned over_by; /* which thread */
static bool over_after_a_call;
static int reason;   /* of the cancel */
static bool learned; /* of it, by the call */
static bool frees;   /* the end does, the pool */

/* ---- the rest of the engine ---- */

bool odi_team_arm(odi_team *team, odi_timer_entry *timer, int64_t due_ns, int64_t now_ns)
{
    return odi_timer_queue_arm(&team->timers, timer, due_ns, now_ns) != ODI_ARM_REFUSED;
}

uint32_t odi_team_timer_site(odi_team *team, bool delivered) { return 0; }
bool odi_timer_thread_is_here(const od_pool *of) { return false; }
bool odi_records_reserve(void) { return true; }
void odi_records_unreserve(void) {}

void odi_queue_submit_node(od_queue *where, uint32_t key, odi_entry job, odi_entry_node *node, bool *reserve)
{
    odi_job_run(job);
}

/* ---- the timer's owner ---- */

/* Plain words: whoever reads them without an edge races. */
static void note_call(void *unused, uint64_t missed)
{
    calls++;
    learned = od_timer_is_cancelled(timer);
    if (learned)
        model_check(reason == 1);
}

static void note_over(void *unused)
{
    overs++;
    over_by = model_thread();
    over_after_a_call = calls > 0;
    if (frees)
        pool.team.timers.wheels = NULL;
}

static void prepare_with(int64_t interval)
{
    od_timer_options options = {0, interval, note_call, note_over, NULL, 0};

    pool.team.timers.wheels = &wheel;
    pool.team.timers.count = 1;
    odi_store_relaxed(&wheel.earliest, ODI_FOREVER);
    odi_store_relaxed(&pool.team.timers.standing_until, ODI_FOREVER);
    queue.pool = &pool;
    timer = od_timer_create(&queue, &options);
    od_timer_start(timer);
    model_hint(&wheel.earliest, sizeof wheel.earliest); /* rechecked under the lock */
    model_hint(&pool.team.timers.used, sizeof pool.team.timers.used);
}

static void prepare_once(void) { frees = true; prepare_with(0); }
static void prepare_freed(void) { frees = true; prepare_with(ODI_SECOND); }
static void prepare_repeating(void) { prepare_with(ODI_SECOND); }

/* ---- threads ---- */

static void fire(void)
{
    odi_timer_entry *found[ODI_DUE_BATCH];
    uint32_t firing = odi_timer_queue_begin_firing(&wheel, 0);

    if (firing != 0 && odi_timer_queue_take(&wheel, firing, 0, found) == 1)
        found[0]->kind->due(found[0]);
}

static void cancel(void)
{
    reason = 1;
    od_timer_cancelled found = od_timer_cancel(timer);

    cancels_returned++;
    if (found != OD_TIMER_RUNS) /* what the calls wrote is readable */
        model_check(calls == 1 || found == OD_TIMER_PREVENTED);
    od_timer_release(timer);
}

static void close_timers(void) { odi_timer_queue_close(&pool.team.timers); }

static void verify(void)
{
    model_check(overs == 1);
    model_check(calls <= 1 && over_after_a_call == (calls > 0));
}

MODEL_SCENARIO(timer_cancel_against_call, prepare_once, verify, fire, cancel)
MODEL_REACHES(timer_cancel_against_call, calls == 1, learned)
MODEL_SCENARIO(timer_cancel_against_repeat, prepare_freed, verify, fire, cancel)
MODEL_REACHES(timer_cancel_against_repeat, calls == 1, over_by == 0)

/* A stop drops what is armed, whatever a call and a cancel do meanwhile. */
static void cancel_only(void) { reason = 1; (void)od_timer_cancel(timer); od_timer_release(timer); }
MODEL_SCENARIO(timer_drop_against_call, prepare_repeating, verify, fire, close_timers)
MODEL_REACHES(timer_drop_against_call, calls == 1, over_by == 0)
MODEL_SCENARIO(timer_drop_against_cancel, prepare_repeating, verify, fire, cancel_only, close_timers)
MODEL_REACHES(timer_drop_against_cancel, calls == 1, over_by == 0, over_by == 1, over_by == 2)
