/* no_forks.h — worker/forks.c, external.c and steal_fork.c for scenarios in which nobody forks. */
#include "model/check.h"
#include "worker/external.h"
#include "worker/forks.h"
#include "worker/worker.h"

_Thread_local od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

od_fork_slot *od_fork_first(uint64_t code, void *context)
{
    model_fail("a scenario without forks forked");
}

void od_fork_asked(void) { model_fail("a scenario without forks was asked for one"); }

bool odi_forks_make(odi_forks *forks, odi_team *team, odi_worker *worker, size_t stack_bytes)
{
    return false;
}

void odi_forks_free(odi_forks *forks) {}
void odi_forks_lose(odi_forks *forks) { model_fail("a scenario without forks lost one"); }
void odi_external_block(odi_forks *external) { model_fail("a scenario without forks has a guest"); }
void odi_external_unblock(odi_forks *external) { model_fail("a scenario without forks has a guest"); }
bool odi_worker_steal_fork(odi_worker *worker, odi_entry *job) { return false; }

static _Thread_local bool no_forks_wanted;

void odi_worker_want_forks(odi_worker *worker) { no_forks_wanted = true; }

/* The last look for forks says nothing, unless they were asked for before. */
bool odi_worker_could_steal_fork(odi_worker *worker)
{
    model_check(no_forks_wanted);
    no_forks_wanted = false;
    return false;
}

bool odi_team_holds_forks(odi_team *team, const odi_forks *own) { return false; }
bool odi_team_wants_fork_thieves(odi_team *team) { return false; }
