/* callers.c — a sync caller is granted its turn in a line (gate/callers.c): it wakes, it reads what
 * ran before it in the line, and its frame may go at once (Q1).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "gate/callers.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/never.h"
#include "model/scenario.h"

NEVER(odi_band_of_thread)
NEVER(odi_earmark_list)
NEVER(odi_queue_carry_out)
NEVER(odi_fifo_push)
NEVER(odi_queue_is_clear)
NEVER(odi_queue_raise_waiting)
NEVER(odi_queue_settle)
NEVER(odi_queue_settle_and_release)
NEVER(odi_queue_take)
NEVER(odi_queue_reap)
NEVER(odi_queue_return_reserved)

_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));

void odi_blocking_begin(const char *what, void *whose)
{
}

void od_blocking_end(void)
{
}

static odi_wait_node *waiting_caller;
static int written;

static void prepare(void)
{
    waiting_caller = model_calloc(1, sizeof *waiting_caller);
}

static void granter(void)
{
    written = 1; /* by the job that ran before */
    odi_wait_node_grant(waiting_caller);
}

static void sync_caller(void)
{
    odi_wait_node *mine = waiting_caller;

    odi_queue_await_grant(NULL, mine, "here");
    model_check(written == 1);
    model_free(mine); /* its frame */
}

MODEL_SCENARIO(caller_is_granted, prepare, NULL, granter, sync_caller)
