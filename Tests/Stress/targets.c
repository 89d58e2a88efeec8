/* Queues on queues: every job runs exactly once or is counted by the cancel that kept it from running, no target
 * runs more than it has places for, barriers run alone and every wait ends, while closures of targets sync onto
 * queues on them, queues come and go, and targets are suspended, resized and cancelled. */
#include "Support/queues.h"
#include "Support/stress.h"

#include "os/membarrier.h"

enum { SUSPEND = 1, WIDEN = 2, CANCEL = 4 };

typedef struct {
    const char *name;
    int workers;
    unsigned disturbances;
    uint32_t plain, sanitized; /* jobs */
    bool one_cpu, without_membarrier;
} scenario;

static const scenario scenarios[] = {
    {.name = "two workers", .workers = 2, .plain = 120000, .sanitized = 12000},
    {.name = "one worker", .workers = 1, .plain = 60000, .sanitized = 6000},
    {.name = "one CPU", .workers = 4, .one_cpu = true, .plain = 60000, .sanitized = 6000},
    {.name = "suspending", .workers = 3, .disturbances = SUSPEND, .plain = 60000, .sanitized = 6000},
    {.name = "changing widths", .workers = 3, .disturbances = WIDEN, .plain = 60000,
     .sanitized = 6000},
    {.name = "cancelling", .workers = 3, .disturbances = CANCEL, .plain = 120000, .sanitized = 12000},
    {.name = "everything at once", .workers = 4, .disturbances = SUSPEND | WIDEN | CANCEL,
     .plain = 60000, .sanitized = 6000},
    {.name = "everything, without membarrier", .workers = 8, .without_membarrier = true,
     .disturbances = SUSPEND | WIDEN | CANCEL, .plain = 60000, .sanitized = 6000},
};

/* A closure may wait for the queues behind its own in this order and for no others, so that what these need is held
 * by nobody who waits for them without earmarking it. */
enum { TARGET, OPEN, SERIAL, LIMITED, DEEP, QUEUES, NONE = -1 };

static const int on[QUEUES] = {NONE, TARGET, TARGET, TARGET, LIMITED};
static const int32_t places[QUEUES] = {3, OD_UNLIMITED, 1, 3, 1};
static const int most[QUEUES] = {3, 3, 1, 3, 1}; /* that run at a time */

enum { SUBMITTERS = 3, DEEPEST = 2, MANY = 3000 };

static struct {
    const scenario *scenario;
    od_queue *queues[QUEUES];
    ledger ledger;
    atomic_int running[QUEUES]; /* who waits for a permit elsewhere does not run */
    atomic_int inside[QUEUES];  /* also who waits */
    atomic_int alone[QUEUES];   /* barriers */
    atomic_int too_many, not_alone;
    atomic_ullong cancelled, synced, notifications, notified;
    atomic_bool over;
} world;

static _Thread_local int held[QUEUES]; /* how often this thread is in the queue, or in one on it */

/* ---- who is where ---- */

static void begin_running(int queue)
{
    if (atomic_fetch_add(&world.running[queue], 1) >= most[queue])
        atomic_fetch_add(&world.too_many, 1);
}

static void enter(int queue, bool as_barrier)
{
    for (int each = queue; each != NONE; each = on[each]) {
        if (held[each]++ == 0)
            begin_running(each);
        if (atomic_load(&world.alone[each]) != 0)
            atomic_fetch_add(&world.not_alone, 1);
        atomic_fetch_add(&world.inside[each], 1);
    }
    if (as_barrier) {
        atomic_store(&world.alone[queue], 1);
        if (atomic_load(&world.inside[queue]) != 1)
            atomic_fetch_add(&world.not_alone, 1);
    }
}

static void leave(int queue, bool as_barrier)
{
    if (as_barrier)
        atomic_store(&world.alone[queue], 0);
    for (int each = queue; each != NONE; each = on[each]) {
        atomic_fetch_sub(&world.inside[each], 1);
        if (--held[each] == 0)
            atomic_fetch_sub(&world.running[each], 1);
    }
}

static void step_aside(void)
{
    for (int each = 0; each < QUEUES; each++)
        atomic_fetch_sub(&world.running[each], held[each] > 0);
}

static void step_back(void)
{
    for (int each = 0; each < QUEUES; each++) {
        if (held[each] > 0)
            begin_running(each);
    }
}

/* ---- syncs ---- */

/* Onto a queue behind `last`, if there is one, and from there perhaps onto the next. */
static void sync_behind(int last)
{
    int rest = QUEUES - 1 - last;
    od_scope scope;

    if (rest == 0)
        return;
    int which = last + 1 + (int)prng_below(mine(), (uint32_t)rest);
    od_queue *queue = world.queues[which];
    bool as_barrier = prng_one_in(mine(), 6);

    if (od_queue_blocked_target(queue) != NULL || od_queue_is_current(queue))
        return; /* it would wait for itself */
    step_aside();
    if (as_barrier)
        od_queue_sync_barrier_begin(queue, &scope);
    else
        od_queue_sync_begin(queue, &scope);
    step_back();
    enter(which, as_barrier);
    atomic_fetch_add(&world.synced, 1);
    if (prng_one_in(mine(), 3))
        sync_behind(which);
    leave(which, as_barrier);
    od_queue_sync_end(&scope);
}

/* ---- jobs ---- */

/* context: number (32) | barrier (1) | queue (4) | depth (3) */
static void *context_of(uint32_t number, bool as_barrier, int queue, uint32_t depth)
{
    return (void *)((uintptr_t)number << 8 | (uintptr_t)as_barrier << 7 | (uintptr_t)queue << 3 | depth);
}

static bool submit(uint32_t depth);

static void job(void *raw)
{
    uintptr_t word = (uintptr_t)raw;
    int queue = (int)(word >> 3 & 15);
    uint32_t depth = word & 7;
    bool as_barrier = word >> 7 & 1;

    enter(queue, as_barrier);
    ledger_run(&world.ledger, (uint32_t)(word >> 8));
    for (uint32_t left = depth > 0 ? prng_below(mine(), 3) : 0; left > 0; left--)
        (void)submit(depth - 1);
    if (prng_one_in(mine(), 4))
        sync_behind(queue);
    if (world.scenario->disturbances & CANCEL && prng_one_in(mine(), 2000))
        atomic_fetch_add(&world.cancelled, od_queue_cancel_all(world.queues[prng_below(mine(), QUEUES)]));
    leave(queue, as_barrier);
}

static bool submit(uint32_t depth)
{
    prng *random = mine();
    int queue = (int)prng_below(random, QUEUES);
    bool as_barrier = prng_one_in(random, 40);
    uint32_t number;

    if (!ledger_issue(&world.ledger, &number))
        return false;
    od_queue_async_with(world.queues[queue], NULL, (int)prng_below(random, 6) - 1,
                        as_barrier ? OD_BARRIER : 0, job,
                        context_of(number, as_barrier, queue, depth));
    return true;
}

/* A queue on one of them, with a few jobs, that is let go at once. They are in it, so they are in that one. */
static bool live_briefly(void)
{
    prng *random = mine();
    int target = prng_one_in(random, 2) ? TARGET : LIMITED;
    od_queue *brief = queue_on(world.queues[target], (int32_t)prng_below(random, 3), "brief");
    uint32_t number;
    bool more = true;

    for (uint32_t left = prng_below(random, 20); left > 0 && more; left--) {
        more = ledger_issue(&world.ledger, &number);
        if (more)
            od_queue_async(brief, NULL, OD_QUEUE_BAND, job, context_of(number, false, target, 0));
    }
    od_queue_release(brief);
    return more;
}

static void note(void *unused) { atomic_fetch_add(&world.notified, 1); }

static void *submitter(void *unused)
{
    prng *random = mine();
    bool more = true;

    while (more) {
        more = prng_one_in(random, 20) ? live_briefly() : submit(prng_below(random, DEEPEST + 1));
        if (prng_one_in(random, 8))
            sync_behind(NONE);
        if (prng_one_in(random, 500)) {
            atomic_fetch_add(&world.notifications, 1);
            od_queue_notify(world.queues[prng_below(random, QUEUES)], note, NULL);
        }
        if (prng_one_in(random, 2000))
            odi_clock_sleep(MILLISECONDS(1)); /* now and then everybody falls asleep */
        while (atomic_load(&world.ledger.issued) >
               MANY + atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled))
            sched_yield(); /* ended by: what runs, or is cancelled */
    }
    return unused;
}

/* ---- disturbances ---- */

static void pause_a_little(void)
{
    odi_clock_sleep((int64_t)prng_below(mine(), 500) * ODI_MICROSECOND);
}

static od_queue *some_queue(void) { return world.queues[prng_below(mine(), QUEUES)]; }

static void *suspend(void *unused)
{
    while (!atomic_load(&world.over)) {
        od_queue *queue = some_queue();

        od_queue_suspend(queue);
        if (prng_one_in(mine(), 2))
            pause_a_little();
        od_queue_resume(queue);
        pause_a_little();
    }
    return unused;
}

/* To one place none of them: then a closure of it could not sync onto a queue on it. */
static void *widen(void *unused)
{
    while (!atomic_load(&world.over)) {
        od_queue_set_width(world.queues[prng_one_in(mine(), 2) ? TARGET : LIMITED],
                           2 + (int32_t)prng_below(mine(), 2));
        pause_a_little();
    }
    return unused;
}

static void *cancel(void *unused)
{
    while (!atomic_load(&world.over)) {
        atomic_fetch_add(&world.cancelled, od_queue_cancel_all(some_queue()));
        pause_a_little();
    }
    return unused;
}

/* ---- a run ---- */

static bool owes_nothing(od_queue *queue)
{
    return LOOK(queue, queue->gate.earmarks == 0 && queue->gate.used == 0 && queue->more->first_awaited == NULL &&
                           queue->more->back.first == NULL && queue->gate.held == 0);
}

static void settle_accounts(void)
{
    uint32_t issued = atomic_load(&world.ledger.issued);

    child_expects(COMES_TRUE(atomic_load(&world.ledger.ran) + atomic_load(&world.cancelled) >= issued));
    for (int i = 0; i < QUEUES; i++) {
        child_expects(od_queue_wait(world.queues[i], SECONDS(60)));
        child_expects(od_queue_pending(world.queues[i]) == 0);
    }
    for (int i = 0; i < QUEUES; i++)
        child_expects(COMES_TRUE(owes_nothing(world.queues[i])));
    child_expects(COMES_TRUE(atomic_load(&world.notified) == atomic_load(&world.notifications)));
    child_expects(atomic_load(&world.too_many) == 0);
    child_expects(atomic_load(&world.not_alone) == 0);
    child_expects(atomic_load(&world.synced) > 0);
    child_expects(atomic_load(&world.ledger.ran) == issued - atomic_load(&world.cancelled));
    child_expects(ledger_close(&world.ledger) == atomic_load(&world.cancelled));
    for (int i = QUEUES - 1; i >= 0; i--)
        od_queue_release(world.queues[i]);
    child_expects(od_pool_free(pool) == OD_OK);
}

static void run(void *raw)
{
    static const struct {
        unsigned bit;
        void *(*body)(void *);
    } disturbers[] = {{SUSPEND, suspend}, {WIDEN, widen}, {CANCEL, cancel}};
    enum { DISTURBERS = sizeof disturbers / sizeof disturbers[0] };
    const scenario *it = raw;
    pthread_t threads[DISTURBERS];

    if (it->without_membarrier)
        odi_membarrier_refused = true;
    if (it->one_cpu)
        keep_to_one_cpu();
    world.scenario = it;
    ledger_open(&world.ledger, stress_count(it->plain, it->sanitized));
    pool = pool_of(it->workers);
    for (int i = 0; i < QUEUES; i++)
        world.queues[i] = on[i] == NONE ? queue_of(places[i])
                                        : queue_on(world.queues[on[i]], places[i], "stress");
    for (int i = 0; i < DISTURBERS; i++) {
        if (it->disturbances & disturbers[i].bit)
            pthread_create(&threads[i], NULL, disturbers[i].body, NULL);
    }
    run_on_threads(SUBMITTERS, submitter);
    atomic_store(&world.over, true);
    for (int i = 0; i < DISTURBERS; i++) {
        if (it->disturbances & disturbers[i].bit)
            pthread_join(threads[i], NULL);
    }
    settle_accounts();
}

TEST(every_job_on_a_tree_of_queues_runs_once_or_is_cancelled)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        stress_run("targets", scenarios[i].name, run, (void *)(uintptr_t)&scenarios[i]);
}

STRESS_PROGRAM
