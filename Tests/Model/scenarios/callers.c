/* callers.c — a sync caller is granted its turn in a line (gate/wait_node.c): it wakes, it reads what
 * ran before it in the line, and its frame may go at once (Q1).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "gate/wait_node.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "model/scenario.h"


_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));

void odi_blocking_begin(const char *what, void *whose) {}
void od_blocking_end(void) {}

static odi_wait_node *waiting_caller;
static int written;

static void prepare(void) { waiting_caller = model_calloc(1, sizeof *waiting_caller); }

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
MODEL_REACHES(caller_is_granted, model_slept(1))
