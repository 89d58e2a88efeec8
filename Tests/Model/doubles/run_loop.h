/* run_loop.h — the rest of the engine for scenarios over worker/run_loop.c alone: one worker's search, its way to
 * sleep and back. What it looks for, and where, is the scenario's. */
#include "doubles/futex.h"
#include "doubles/keep.h"
#include "doubles/never.h"
#include "doubles/no_timers.h"
#include "model/scenario.h"

/* Nobody takes a lock here. */
_Thread_local odi_atomic(bool) *odi_lock_sleeper __attribute__((tls_model("initial-exec")));

void odi_team_publish_slow(odi_team *whose, odi_site *where) {}
static void refresh(odi_team *whose) {}
bool odi_worker_end_run(odi_worker *worker) { return true; }
void odi_deque_shrink(odi_deque *deque) {}

/* What a search does not reach. */
NEVER(odi_affinity_set)
NEVER(odi_team_bench)
NEVER(odi_team_sit)
NEVER(odi_team_depart)
NEVER(odi_team_has_work)
NEVER(odi_team_move)
NEVER(odi_deque_adopt)
NEVER(odi_deque_take)
NEVER(odi_assignment_settle)
NEVER(odi_numa_move)
NEVER(odi_overflow_begin)
NEVER(odi_overflow_end)
NEVER(odi_plan_mask)
NEVER(odi_run_discard)
NEVER(od_thread_cpu)
NEVER(odi_thread_cpu_clock)
NEVER(odi_thread_id)
NEVER(odi_thread_stack_in_use)
NEVER(odi_worker_run)
NEVER(odi_worker_stop_searching)
