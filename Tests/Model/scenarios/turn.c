/* turn.c — a sync caller is granted its turn in a lane (lane/drain.c): it wakes, it reads what
 * ran before it in the lane, and its frame may go at once (Q1).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "lane/drain.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/never.h"
#include "model/scenario.h"

NEVER(odi_band_of_thread)
NEVER(odi_borrow_list)
NEVER(odi_borrow_pop)
NEVER(odi_crew_hand_over)
NEVER(odi_crew_has_jobs)
NEVER(odi_deque_size)
NEVER(odi_fifo_peek)
NEVER(odi_fifo_pop)
NEVER(odi_fifo_push)
NEVER(odi_lane_call_in)
NEVER(odi_lane_carry_out)
NEVER(odi_lane_come_up)
NEVER(odi_lane_end_barrier)
NEVER(odi_lane_end_credits)
NEVER(odi_lane_enter)
NEVER(odi_lane_fill_hand)
NEVER(odi_lane_front)
NEVER(odi_lane_is_clear)
NEVER(odi_lane_line_up)
NEVER(odi_lane_measure)
NEVER(odi_lane_open_if_clear)
NEVER(odi_lane_pass_raised)
NEVER(odi_lane_peek)
NEVER(odi_lane_pop_hand)
NEVER(odi_lane_put_down)
NEVER(odi_lane_raise)
NEVER(odi_lane_raise_waiting)
NEVER(odi_lane_settle)
NEVER(odi_lane_stay_up)
NEVER(odi_lane_waiting)
NEVER(odi_lane_width)
NEVER(odi_limit_admit)
NEVER(odi_pool_submit)
NEVER(odi_pool_submit_if_kept)
NEVER(odi_queue_reap)
NEVER(odi_record_drained)
NEVER(odi_run_discard)
NEVER(odi_run_outside)
NEVER(odi_target_came_up)
NEVER(odi_target_lock)
NEVER(odi_target_send)
NEVER(odi_target_unlock)
NEVER(odi_target_wants_back)
NEVER(odi_worker_end_run)
NEVER(odi_worker_find_local)
NEVER(odi_worker_other_bands)
NEVER(odi_worker_run)

_Thread_local bool odi_discarding __attribute__((tls_model("initial-exec")));
_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));

void od_blocking_begin(void)
{
}

void od_blocking_end(void)
{
}

static od_queue queue;
static odi_turn *waiting_caller;
static int written;

static void prepare(void)
{
    waiting_caller = model_calloc(1, sizeof *waiting_caller);
}

static void granter(void)
{
    written = 1; /* by the job that ran before */
    grant(odi_job_plain(turn, waiting_caller, ODI_TAG_INTERNAL));
}

static void sync_caller(void)
{
    odi_turn *mine = waiting_caller;

    odi_lane_await(&queue, mine, ODI_WAIT_SLICE_NS);
    model_check(written == 1);
    model_free(mine); /* its frame */
}

MODEL_SCENARIO(turn_is_granted, prepare, NULL, granter, sync_caller)
