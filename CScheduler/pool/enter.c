/* enter.c — selects the pool for forks of a thread that is not a worker. */
#include <pthread.h>

#include "base/invariant.h"
#include "include/od_pool.h"
#include "pool/pool.h"
#include "worker/external.h"
#include "worker/worker.h"

/* A stack of one slot for threads whose forks no thief may take. Their forks take the slow path and run
 * immediately, and loops are not asked to divide. */
static _Thread_local od_fork_slot only_slot[2];

/* Aligned by hand: in a library that is loaded at run time, thread-local variables may not need more
 * alignment than a cache line. */
static _Thread_local _Alignas(ODI_CACHE_LINE) char
    alone_room[sizeof(odi_forks) + ODI_CACHE_PAIR - ODI_CACHE_LINE];

static odi_forks *alone(void)
{
    uintptr_t place = (uintptr_t)alone_room + ODI_CACHE_PAIR - 1;

    return (odi_forks *)(place & ~(uintptr_t)(ODI_CACHE_PAIR - 1));
}

static od_forks *fork_inline(void)
{
    odi_forks *forks = alone();

    /* relaxed, both: owner-only words. The slot at head is free at every call. */
    forks->slots = only_slot;
    odi_store_relaxed(&forks->owner.limit, ODI_FORKS_OPEN);
    odi_store_relaxed(&forks->owner.head, only_slot);
    return &forks->owner;
}

/* Gives the calling thread a fork stack. */
static void begin(void)
{
    /* A worker without a fork stack had no memory for one. */
    od_pool *pool = odi_worker_self == NULL ? od_default_pool() : NULL;
    odi_forks *external = pool != NULL ? odi_external_enter(&pool->team) : NULL;

    if (external != NULL)
        external->leaves_at_root = true;
    od_forks_self = external != NULL ? &external->owner : fork_inline();
}

ODI_COLD od_fork_slot *od_fork_first(uint64_t code, void *context)
{
    begin();
    return od_fork_push(code, context);
}

ODI_COLD od_fork_slot *od_fork_first_numbered(uint64_t code, void *context, uint32_t number)
{
    begin();
    return od_fork_push_numbered(code, context, number);
}

void od_forks_enter(od_pool *pool, od_fork_scope *scope)
{
    odi_team *team = &pool->team;
    odi_forks *outer = (odi_forks *)od_forks_self;

    *scope = (od_fork_scope){od_forks_self, NULL};
    if (outer != NULL && outer->team == team)
        return;
    odi_forks *external = odi_external_enter(team);
    if (external != NULL)
        external->leaves_at_root = false;
    else
        alone()->depth++; /* the scope, which no join ends */
    scope->here = external != NULL ? &external->owner : fork_inline();
    od_forks_self = scope->here;
}

void od_forks_leave(od_fork_scope *scope)
{
    if (scope->here == NULL)
        return;
    od_forks_self = scope->outer;
    if (((odi_forks *)scope->here)->team != NULL)
        odi_external_give_up((odi_forks *)scope->here);
    else
        alone()->depth--;
}

/* ---- the default pool ---- */

static odi_lock default_lock;
static odi_atomic(od_pool *) default_pool;

/* A forked child cannot wait for another thread's creation of the pool. */
static void forget_creation(void)
{
    default_lock = (odi_lock){0};
}

__attribute__((constructor)) static void register_for_fork(void)
{
    (void)pthread_atfork(NULL, NULL, forget_creation);
}

__attribute__((weak)) od_pool *od_default_pool(void)
{
    od_pool *pool = odi_load_acquire(&default_pool, P1);

    if (ODI_LIKELY(pool != NULL))
        return pool;
    char left_out[256] = "";
    odi_lock_acquire(&default_lock);
    pool = odi_load_relaxed(&default_pool); /* relaxed: written under the lock */
    if (pool == NULL) {
        od_pool_options options;
        char message[256];

        od_pool_options_init(&options);
        (void)od_pool_options_from_environment(&options, left_out, sizeof left_out);
        (void)od_pool_create(&options, &pool, message, sizeof message); /* on failure NULL; the next fork tries again */
        odi_store_release(&default_pool, pool, P1);
    }
    odi_lock_release(&default_lock);
    if (left_out[0] != '\0')
        odi_warn("%s The default applies.", left_out); /* the warning function may fork, so no lock is held */
    return pool;
}
