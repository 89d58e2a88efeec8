/* no_forks.h — worker/forks.c, guest.c and hunt.c for scenarios in which nobody forks. */
#include "model/check.h"
#include "worker/forks.h"
#include "worker/guest.h"
#include "worker/worker.h"

_Thread_local od_forks *od_forks_self __attribute__((tls_model("initial-exec")));

od_fork_slot *od_fork_first(uint64_t code, void *context)
{
    (void)code;
    (void)context;
    model_fail("a scenario without forks forked");
}

void od_fork_asked(void)
{
    model_fail("a scenario without forks was asked for one");
}

bool odi_forks_make(odi_forks *forks, odi_crew *crew, odi_worker *worker, size_t stack_bytes)
{
    (void)forks;
    (void)crew;
    (void)worker;
    (void)stack_bytes;
    return false;
}

void odi_forks_free(odi_forks *forks)
{
    (void)forks;
}

void odi_guests_free(odi_crew *crew)
{
    (void)crew;
}

void odi_guests_forked(odi_crew *crew)
{
    (void)crew;
}

void odi_forks_lose(odi_forks *forks)
{
    (void)forks;
    model_fail("a scenario without forks lost one");
}

void odi_guest_block(odi_forks *guest)
{
    (void)guest;
    model_fail("a scenario without forks has a guest");
}

void odi_guest_unblock(odi_forks *guest)
{
    (void)guest;
    model_fail("a scenario without forks has a guest");
}

bool odi_worker_hunt(odi_worker *worker, odi_entry *job)
{
    (void)worker;
    (void)job;
    return false;
}

static _Thread_local bool no_forks_wanted;

void odi_worker_want_forks(odi_worker *worker)
{
    (void)worker;
    no_forks_wanted = true;
}

/* The last look for forks says nothing, unless they were asked for before. */
bool odi_worker_could_hunt(odi_worker *worker)
{
    (void)worker;
    model_check(no_forks_wanted);
    no_forks_wanted = false;
    return false;
}

bool odi_crew_holds_forks(odi_crew *crew)
{
    (void)crew;
    return false;
}

bool odi_crew_wants_hunters(odi_crew *crew)
{
    (void)crew;
    return false;
}
