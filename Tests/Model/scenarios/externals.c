/* externals.c — forks that are held back because as many threads run as may (worker/external.c): when
 * an external thread makes room, a worker is woken for them, by the external thread or by who holds them back (F7).
 *
 * The team has two workers' room and two external threads, of whom one has a fork to expose.
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "worker/external.c"

#include "worker/stacks.c"

#include "worker/team.c"

#include "doubles/keep.h"
#include "doubles/never.h"
#include "doubles/pages.h"
#include "model/scenario.h"

static odi_team team;
static odi_site site;
static odi_forks externals[2];
static odi_atomic(uint32_t) exposed;
static unsigned woken[MODEL_ROWS];

/* ---- the rest of the engine ---- */

_Thread_local od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

bool odi_forks_make(odi_forks *forks, odi_team *in, odi_worker *worker, size_t stack_bytes)
{
    forks->team = in;
    forks->worker = worker;
    return true;
}

void odi_forks_free(odi_forks *forks) {}
void odi_forks_lose(odi_forks *forks) {}

/* A worker's do, an external thread's do not. */
bool odi_forks_hold_work(odi_forks *victim) { return victim->worker != NULL; }

NEVER(odi_assignment_init)
NEVER(odi_assignment_number)
NEVER(odi_assignment_replan)
NEVER(odi_deque_free)
NEVER(odi_idle_init)
NEVER(odi_idle_wake_all)
NEVER(odi_injector_forked)
NEVER(odi_injector_free)
NEVER(odi_injector_init)
NEVER(odi_timer_queue_forked)
NEVER(odi_timer_queue_free)
NEVER(odi_timer_queue_init)
int odi_assignment_site(const odi_team *whose, int slot) { return 0; }
void odi_deque_init(odi_deque *deque, int64_t start, int node) {}

int odi_thread_id(void) { return 1; }
int odi_thread_cpu_clock(void) { return 1; }
odi_site *odi_team_nearest_site(odi_team *whose) { return &whose->sites[0]; }
bool odi_team_has_work(odi_team *whose) { return odi_load_relaxed(&exposed) != 0; }

_Thread_local bool odi_woke_a_sleeper __attribute__((tls_model("initial-exec")));

uint32_t odi_idle_sleepers(odi_idle *idle) { return 0; }
odi_signal odi_idle_signal(odi_idle *idle) { return ODI_SIGNAL_NOBODY; }

/* Nobody sleeps, and a worker may be started: a publisher comes here. */
void odi_team_publish_slow(odi_team *whose, odi_site *near) { woken[model_thread()]++; }

static void arm(odi_team *whose) {}

/* ---- scenarios ---- */

static void prepare_full(void)
{
    team.sites = &site;
    team.site_count = 1;
    team.arm_monitor = arm;
    odi_store_relaxed(&team.attention, ODI_CAN_START);
    odi_store_relaxed(&team.limit_seen, 2);
    for (int i = 0; i < 2; i++) {
        externals[i].team = &team;
        odi_store_relaxed(&externals[i].taken, 1);
        odi_store_relaxed(&team.externals[i], &externals[i]);
    }
    odi_store_relaxed(&team.externals_seen, 2);
}

static void expose(void)
{
    odi_store_relaxed(&exposed, 1);
    if (odi_externals_leave_room(&team))
        odi_team_publish(&team, &site);
}
static void leave(void) { odi_external_give_up(&externals[1]); }
static void say_that_it_blocks(void) { odi_external_block(&externals[1]); }
static void verify_woken(void) { model_check(model_sum(woken) > 0); }
MODEL_SCENARIO(external_threads_leave, prepare_full, verify_woken, expose, leave)
MODEL_REACHES(external_threads_leave, woken[0] > 0, woken[1] > 0)
MODEL_SCENARIO(external_threads_block, prepare_full, verify_woken, expose, say_that_it_blocks)
MODEL_REACHES(external_threads_block, woken[0] > 0, woken[1] > 0)

/* Two external threads hold forks back while a third goes: its look is for both. */
static odi_forks third;

static void prepare_three(void)
{
    prepare_full();
    odi_store_relaxed(&team.limit_seen, 3);
    third.team = &team;
    odi_store_relaxed(&third.taken, 1);
    odi_store_relaxed(&team.externals[2], &third);
    odi_store_relaxed(&team.externals_seen, 3);
}
MODEL_SCENARIO(external_threads_hold_back_together, prepare_three, verify_woken, expose, expose, leave)
MODEL_REACHES(external_threads_hold_back_together, woken[0] > 0, woken[2] > 0)

/* ---- a place passes from one external thread to the next (F6) ---- */

static int stack; /* plain: what the forks of a place are */

static void prepare_place(void)
{
    prepare_full();
    odi_store_relaxed(&externals[0].taken, 0);
    odi_store_relaxed(&externals[1].taken, 0);
    odi_store_relaxed(&team.externals_seen, 1);
    odi_store_relaxed(&team.limit_seen, 9);
}
static void visit(void)
{
    if (take(&externals[0])) {
        stack++;
        odi_external_give_up(&externals[0]);
    }
}
static void verify_place(void) { model_check(stack >= 1 && odi_load_relaxed(&externals[0].taken) == 0); }
MODEL_SCENARIO(external_threads_place, prepare_place, verify_place, visit, visit, visit)
MODEL_REACHES(external_threads_place, stack == 3, stack == 1)

/* ---- who looks for forks finds a thread that has just come, whole (W1, W4) ---- */

static odi_atomic(odi_worker *) slots[1];
static bool found_an_external, found_a_worker;

static void prepare_nobody(void)
{
    team.sites = &site;
    team.site_count = team.capacity = 1;
    team.slots = slots;
    model_check(odi_team_list_workers(&team));
    odi_store_relaxed(&team.forks_used, true);
}
static void enter(void) { model_check(odi_external_enter(&team) != NULL); }
static void count_externals(void) { found_an_external = odi_externals_here(&team) == 1; }
MODEL_SCENARIO(external_threads_enter, prepare_nobody, NULL, enter, count_externals)
MODEL_REACHES(external_threads_enter, found_an_external)

static void list_a_worker(void)
{
    odi_lock_acquire(&team.lock);
    odi_team_make_worker(&team, 0)->present = true;
    model_check(odi_team_list_workers(&team));
    odi_lock_release(&team.lock);
}
static void look_for_forks(void) { found_a_worker = odi_team_holds_forks(&team, NULL); }
MODEL_SCENARIO(external_threads_beside_a_new_worker, prepare_nobody, NULL, list_a_worker, look_for_forks)
MODEL_REACHES(external_threads_beside_a_new_worker, found_a_worker)
