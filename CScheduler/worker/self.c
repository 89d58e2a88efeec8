/* self.c — state of the calling thread: its worker, its inline jobs (for reports and queue queries), and the
 * pointers that Swift keeps on it. */
#include "include/od_pool.h"
#include "worker/run.h"
#include "worker/worker.h"

_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));
_Thread_local odi_outside *odi_outsides;
_Thread_local od_scope *odi_scopes;
_Thread_local odi_descent *odi_descended;

void odi_descents_forked(void)
{
    for (odi_descent *each = odi_descended; each != NULL; each = each->outer) {
        if (each->work != NULL && each->work == od_thread_work())
            od_thread_set_work(NULL);
        each->from = (odi_around){0};
        each->work = NULL;
    }
}

odi_around odi_around_here(void)
{
    odi_worker *worker = odi_worker_self;
    bool in_run = worker != NULL && odi_descended == NULL;

    return (odi_around){odi_scopes, odi_outsides, in_run ? worker->run_record : NULL, odi_descended};
}

bool odi_around_next(odi_around *at, const od_scope **scope, odi_record **record)
{
    while (at->descent != NULL && at->scopes == at->descent->scopes && at->outsides == at->descent->outsides)
        *at = at->descent->from;
    *scope = NULL;
    *record = NULL;
    if (at->outsides != NULL && at->outsides->scopes == at->scopes) {
        *record = at->outsides->record;
        at->outsides = at->outsides->outer;
    } else if (at->scopes != NULL) {
        *scope = at->scopes;
        at->scopes = at->scopes->outer;
    } else {
        *record = at->record;
        at->record = NULL;
    }
    return *scope != NULL || *record != NULL;
}

static _Thread_local struct {
    void *work, *route, *bounce;
} words __attribute__((tls_model("initial-exec")));

bool od_pool_is_worker(od_pool *pool)
{
    odi_worker *worker = odi_worker_self;

    return worker != NULL && (pool == NULL || worker->team->pool == pool);
}

int od_pool_current_band(void)
{
    odi_around at = odi_around_here();
    const od_scope *scope;
    odi_record *record = NULL;

    while (record == NULL && odi_around_next(&at, &scope, &record)) {
    }
    return record != NULL ? (int)odi_record_band(record) : -1;
}

void *od_thread_work(void)
{
    return words.work;
}

void od_thread_set_work(void *now)
{
    words.work = now;
}

void *od_thread_route(void)
{
    return words.route;
}

void od_thread_set_route(void *now)
{
    words.route = now;
}

void *od_thread_bounce(void)
{
    return words.bounce;
}

void **od_thread_bounce_place(void)
{
    return &words.bounce;
}

void od_thread_set_bounce(void *now)
{
    words.bounce = now;
}
