/* turn.c — a sync caller is granted its turn in a lane (lane/turn.c): it wakes, it reads what
 * ran before it in the lane, and its frame may go at once (Q1).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "lane/turn.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/never.h"
#include "model/scenario.h"

NEVER(odi_band_of_thread)
NEVER(odi_borrow_list)
NEVER(odi_lane_carry_out)
NEVER(odi_fifo_push)
NEVER(odi_lane_is_clear)
NEVER(odi_lane_list)
NEVER(odi_lane_open_if_clear)
NEVER(odi_lane_raise_waiting)
NEVER(odi_lane_settle)
NEVER(odi_lane_settle_and_release)
NEVER(odi_lane_take)
NEVER(odi_queue_reap)
NEVER(odi_record_drained)

_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));

void odi_blocking_begin(const char *what, void *whose)
{
    (void)what;
    (void)whose;
}

void od_blocking_end(void)
{
}

static odi_turn *waiting_caller;
static int written;

static void prepare(void)
{
    waiting_caller = model_calloc(1, sizeof *waiting_caller);
}

static void granter(void)
{
    written = 1; /* by the job that ran before */
    odi_lane_grant(waiting_caller);
}

static void sync_caller(void)
{
    odi_turn *mine = waiting_caller;

    odi_lane_await(NULL, mine, "here");
    model_check(written == 1);
    model_free(mine); /* its frame */
}

MODEL_SCENARIO(turn_is_granted, prepare, NULL, granter, sync_caller)
