/* default_pool.c — threads that are no workers fork for the first time at once (pool/enter.c): one of them makes the
 * pool of those who have not chosen one, and each finds it as it was made (P1).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "pool/enter.c"

#include "doubles/never.h"
#include "model/scenario.h"

NEVER(od_fork_asked)
NEVER(odi_external_enter)
NEVER(odi_external_give_up)
NEVER(odi_warn)

__thread od_forks *od_forks_self __attribute__((tls_model("initial-exec")));
_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));

static od_pool pools[2];
static odi_atomic(int) made;
static bool fails; /* the first creation does */
static od_pool *found[2];

void od_pool_options_init(od_pool_options *options) { *options = (od_pool_options){0}; }

od_status od_pool_options_from_environment(od_pool_options *options, char *message, size_t capacity)
{
    (void)options, (void)message, (void)capacity;
    return OD_OK;
}

od_status od_pool_create(const od_pool_options *options, od_pool **pool, char *message, size_t capacity)
{
    int before = odi_add_relaxed(&made, 1);

    (void)options, (void)message, (void)capacity;
    if (fails && before == 0)
        return OD_NO_MEMORY;
    *pool = &pools[before];
    (*pool)->round_down = true; /* plain */
    return OD_OK;
}

static void find(int which)
{
    found[which] = od_default_pool();
    model_check(found[which] == NULL || found[which]->round_down);
}

static void first(void) { find(0); }
static void second(void) { find(1); }
static void nothing(void) {}
static void fail(void) { fails = true; }

static void verify(void) { model_check(odi_load_relaxed(&made) == 1 && found[0] == &pools[0] && found[1] == &pools[0]); }
MODEL_SCENARIO(default_pool_is_made_once, nothing, verify, first, second)
MODEL_REACHES(default_pool_is_made_once, model_met(0, "od_pool_create") > 0, model_met(1, "od_pool_create") > 0)

static void verify_again(void) { model_check(od_default_pool() == &pools[1] && odi_load_relaxed(&made) == 2); }
MODEL_SCENARIO(default_pool_is_made_by_the_next, fail, verify_again, first, second)
MODEL_REACHES(default_pool_is_made_by_the_next, found[0] == NULL, found[1] == NULL)
