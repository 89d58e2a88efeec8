/* scenes.h — an interpreter of short programs over queues, written as text. A scene states what is submitted,
 * held, released, suspended or cancelled, and what must then hold.
 *
 *     SCENE(a_barrier_waits, "queue q; hold q Door; add q alone barrier; settle; alone = 0; open Door; alone -> 1")
 *
 * A semicolon separates steps. A job is a name or a block of steps. A name with a small first letter is a
 * counter, and the job adds 1 to it. A capital letter begins the name of a door, at which the job waits until
 * the door is opened. A block such as {inside r; a} is a sequence of steps that the job performs. The value
 * of a name is the number of jobs that have reached it. A name is also a step.
 *
 *   pool N [bare]               first step, if not 3 workers: N workers [without spares]; lone: lone_worker()
 *   queue q [width N] [on q] [limit N [waits|runs|refuses]] [band N] [inactive] [shared];  group g
 *   add q [N] a [in g] [band N] [barrier] [enforced]
 *                               submits N jobs to the queue, or to the pool (`add pool a`). Variants: hold waits
 *                               until the jobs have arrived; try and refuse expect room or no room; discard
 *                               expects a stopped pool
 *   batch q N a [in g] [band N] submits N jobs in one batch
 *   thread [N] a;  join         starts N threads that run the job; waits for all threads
 *   repeat N a                  runs the job N times on this thread
 *   child a                     runs the job in a forked child;  block, unblock: od_blocking_begin and _end
 *   inside q, inside q!         enters a sync, or a barrier, until `outside` or the end of these steps
 *   open A …                    opens doors
 *   semaphore s N;  take s;  signal s [yes|no: whether a thread waits];  short s: expects no permit
 *   timer t q MS MS a [band N] [barrier] [unstarted];  start t;  disarm t [prevented|runs|over]
 *                               a timer of the queue with a delay and an interval; its calls run the job
 *   suspend, resume, activate, release q;  width q N;  target q q;  cancel q N, which expects N jobs
 *   enter, leave g;  notify x a;  wait x (await x: without a deadline) until x is empty; busy x expects
 *                               that x is not empty
 *   keep q N, give q N          od_queue_hold, which must return N, and od_queue_unhold
 *   come, go, anew              enters, leaves and resets the crowd whose maximum is pool.most; an entering
 *                               thread sometimes yields
 *   lock, unlock;  pause MS     a mutex; sleeps, for events that must not happen
 *   reach q                     pretends that the queue's jobs were short: the next drainer takes a full batch
 *   stop [in MS] [ran N cancelled N stuck N [at q]]
 *   settle                      waits until every job that can run has run
 *   X = N, X <= N, X -> N, X >= N
 *                               expects that X is, is at most, becomes, or becomes at least N. X is a name, or
 *                               q.pending and similar
 *   order abc                   expects this order of the counters' jobs, by first letters; d20: 20 jobs; ab|ba: or
 *   end                         opens all doors, joins all threads, waits for and releases all queues and groups
 *
 * Each scene ends with `end` and frees its pool. `20 times W in 0 1 2: …`, or one of the two parts, before
 * the first step repeats the scene. A step that begins with W=1 or W!=1 applies only to those values.
 */
#ifndef SUPPORT_SCENES_H
#define SUPPORT_SCENES_H

#include <ctype.h>

#include "Support/crowd.h"
#include "Support/looks.h"
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "gate/semaphore.h"
#include "include/od_report.h"
#include "include/od_timer.h"
#include "gate/current.h"
#include "worker/override.h"

#define SCENE(name, text)                                                                 \
    TEST(name) { play_scene(#name, (text), __FILE__, __LINE__); }

/* Pairs of steps that break a contract and the expected sentence. */
#define SCENE_TRAPS(name, ...)                                                            \
    TEST(name)                                                                            \
    {                                                                                     \
        static const char *const texts[] = {__VA_ARGS__};                                 \
        stage.file = __FILE__, stage.line = __LINE__;                                     \
        for (size_t each = 0; each < sizeof texts / sizeof texts[0]; each += 2)           \
            assert_child_traps(play_in_child, (void *)(uintptr_t)texts[each], texts[each + 1]); \
    }

enum { STAGE_THINGS = 40, STAGE_WORDS = 40, STAGE_THREADS = 128, STAGE_ORDER = 256, STAGE_STEP = 512 };

typedef struct {
    char name[STAGE_STEP];
    od_queue *queue;
    od_group *group;
    od_semaphore *semaphore;
    od_timer *timer;
    void *job; /* the timer's job, which its calls run */
    atomic_int overs;
    atomic_ullong missed;
    gate door; /* if none of these: a counter, at which no job waits, or a door */
} stage_thing;

static struct {
    const char *scene, *file, *parameter, *value, *text;
    int line, threaded;
    od_pool *pool;
    stage_thing things[STAGE_THINGS + 1];
    pthread_mutex_t naming, mutex;
    pthread_t threads[STAGE_THREADS];
    char order[STAGE_ORDER + 1];
    atomic_int ordered;
    crowd crowd;
} stage;

/* A player of steps: the test, or a job or thread. */
typedef struct {
    char step[STAGE_STEP], split[STAGE_STEP];
    const char *words[STAGE_WORDS + 1];
    int count, at; /* number of words of the step, and the index of the next */
    int depth;
    od_scope scopes[4];
} stage_actor;

static _Thread_local stage_actor *stage_self;

static inline void play(const char *steps);

#define EACH_THING(it) (stage_thing *it = stage.things; it->name[0] != '\0'; it++)

/* ---- words ---- */

static inline void stage_expects(bool so, const char *what, uint64_t number)
{
    if (!so) {
        print_error("%s (%s %s), \"%s\": %s %lld\n", stage.scene, stage.parameter, stage.value, stage_self->step, what,
                    (long long)number);
        _fail(stage.file, stage.line);
    }
}

static inline const char *stage_word(void)
{
    stage_expects(stage_self->at < stage_self->count, "a word is missing", 0);
    return stage_self->words[stage_self->at++];
}

/* Whether `word` is the next word; if so, it is consumed. */
static inline bool stage_has(const char *word)
{
    bool has = stage_self->at < stage_self->count && strcmp(stage_self->words[stage_self->at], word) == 0;

    stage_self->at += has;
    return has;
}

static inline int64_t stage_number(void) { return strtoll(stage_word(), NULL, 10); }

static inline int64_t stage_number_or_1(void)
{
    return stage_self->at < stage_self->count && isdigit(*stage_self->words[stage_self->at]) ? stage_number() : 1;
}

/* Returns the thing with this name, created if needed. */
static inline stage_thing *stage_named(const char *name)
{
    stage_thing *it = stage.things;

    pthread_mutex_lock(&stage.naming);
    while (it->name[0] != '\0' && strcmp(it->name, name) != 0)
        it++;
    stage_expects(it < stage.things + STAGE_THINGS, "no room for names", 0);
    if (it->name[0] == '\0')
        (void)strcpy(it->name, name);
    pthread_mutex_unlock(&stage.naming);
    return it;
}

static inline stage_thing *stage_next(void) { return stage_named(stage_word()); }

/* Returns the queue that the next word names; NULL for `none`. */
static inline od_queue *stage_queue(void)
{
    bool none = stage_has("none");
    od_queue *queue = none ? NULL : stage_next()->queue;

    stage_expects(none || queue != NULL, "no such queue", 0);
    return queue;
}

/* ---- jobs ---- */

static inline void stage_job(void *thing)
{
    stage_thing *it = thing;

    if (it->name[0] == '{') {
        play(it->name + 1);
        return;
    }
    if (isupper(it->name[0])) {
        gate_pass(&it->door);
        return;
    }
    int at = atomic_fetch_add(&stage.ordered, 1);
    if (at < STAGE_ORDER)
        stage.order[at] = it->name[0];
    atomic_fetch_add(&it->door.waiting, 1);
}

static inline void *stage_thread(void *thing)
{
    stage_job(thing);
    return NULL;
}

static inline void stage_add(const char *verb)
{
    od_queue *queue = stage_has("pool") ? NULL : stage_queue();
    int64_t times = stage_number_or_1();
    stage_thing *job = stage_next();
    od_group *group = stage_has("in") ? stage_next()->group : NULL;
    int32_t band = stage_has("band") ? (int32_t)stage_number() : queue != NULL ? OD_QUEUE_BAND : OD_BAND_DEFAULT;
    uint32_t flags = (stage_has("barrier") ? OD_BARRIER : 0) | (stage_has("enforced") ? OD_ENFORCE_BAND : 0);
    od_status status = OD_OK;
    int before = atomic_load(&job->door.waiting);

    for (int64_t time = 0; time < times; time++) {
        if (queue == NULL)
            od_pool_submit(stage.pool, (od_band)band, stage_job, job);
        else if (*verb == 't' || *verb == 'r')
            stage_expects(od_queue_try_async(queue, group, band, flags, stage_job, job) == (*verb == 't'), "not so",
                          (uint64_t)time);
        else if (flags != 0)
            status = od_queue_async_with(queue, group, band, flags, stage_job, job);
        else
            status = od_queue_async(queue, group, band, stage_job, job);
        stage_expects(*verb != 'd' || status == OD_STOPPED, "status", status);
    }
    if (*verb == 'h')
        stage_expects(COMES_TRUE(atomic_load(&job->door.waiting) == before + times), "not there", 0);
}

static inline void stage_batch(void)
{
    _Alignas(16) char room[OD_BATCH_BYTES];
    od_queue *queue = stage_queue();
    int64_t times = stage_number();
    stage_thing *job = stage_next();
    od_group *group = stage_has("in") ? stage_next()->group : NULL;
    od_batch *batch = od_batch_begin(room, queue, group, stage_has("band") ? (int32_t)stage_number() : OD_QUEUE_BAND);

    while (times-- > 0)
        od_batch_add(batch, stage_job, job);
    od_batch_submit(batch);
    od_batch_submit(batch); /* submits an empty batch */
}

/* In a child no other thread can hold the mutex. */
static inline void stage_be_a_child(void *job)
{
    pthread_mutex_init(&stage.naming, NULL);
    stage_job(job);
}

static inline void stage_child(void)
{
    outcome it = in_a_child(stage_be_a_child, stage_next(), 60);

    stage_expects(it.status == 0, it.said, (uint64_t)it.status);
}

static inline void stage_threads(void)
{
    int64_t count = stage_number_or_1();
    stage_thing *job = stage_next();

    stage_expects(stage.threaded + count <= STAGE_THREADS, "too many threads", 0);
    while (count-- > 0)
        pthread_create(&stage.threads[stage.threaded++], NULL, stage_thread, job);
}

static inline void stage_join(void)
{
    join_threads(stage.threads, stage.threaded);
    stage.threaded = 0;
}

static inline void stage_inside(void)
{
    char *bang = strchr(stage_self->words[stage_self->at], '!');
    od_scope *scope = &stage_self->scopes[stage_self->depth++];

    if (bang != NULL)
        *bang = '\0';
    (bang != NULL ? od_queue_sync_barrier_begin : od_queue_sync_begin)(stage_queue(), scope);
}

/* ---- creation ---- */

static inline void stage_make_queue(void)
{
    stage_thing *it = stage_next();
    od_queue_options options = {.band = OD_BAND_DEFAULT, .label = it->name};

    /* ends at a word that is not an option */
    for (int before = -1; stage_self->at < stage_self->count && stage_self->at != before;) {
        before = stage_self->at;
        options.width = stage_has("width") ? (int32_t)stage_number() : options.width;
        options.target = stage_has("on") ? stage_queue() : options.target;
        options.band = stage_has("band") ? (od_band)stage_number() : options.band;
        options.pending_limit = stage_has("limit") ? (uint32_t)stage_number() : options.pending_limit;
        options.overflow = stage_has("waits") ? OD_OVERFLOW_WAITS : options.overflow;
        options.overflow = stage_has("runs") ? OD_OVERFLOW_RUNS : options.overflow;
        options.overflow = stage_has("refuses") ? OD_OVERFLOW_REFUSED : options.overflow;
        options.inactive |= stage_has("inactive");
        options.shared |= stage_has("shared");
    }
    it->queue = od_queue_create_with(stage.pool, &options);
}

static inline void stage_call(void *raw, uint64_t missed)
{
    stage_thing *it = raw;

    atomic_fetch_add(&it->missed, missed);
    stage_job(it->job);
}

static inline void stage_over(void *raw) { atomic_fetch_add(&((stage_thing *)raw)->overs, 1); }

static inline void stage_make_timer(void)
{
    stage_thing *it = stage_next();
    od_queue *queue = stage_queue();
    od_timer_options options = {.delay_ns = MILLISECONDS(stage_number()), .call = stage_call, .over = stage_over, .context = it};

    options.interval_ns = MILLISECONDS(stage_number());
    it->job = stage_next();
    int32_t band = stage_has("band") ? (int32_t)stage_number() : OD_QUEUE_BAND;
    it->timer = od_timer_create_with(queue, band, stage_has("barrier") ? OD_BARRIER : 0, &options);
    if (!stage_has("unstarted"))
        od_timer_start(it->timer);
}

static inline void stage_disarm(void)
{
    static const char *const outcomes[] = {[OD_TIMER_PREVENTED] = "prevented", [OD_TIMER_RUNS] = "runs", [OD_TIMER_WAS_OVER] = "over"};
    od_timer_cancelled was = od_timer_cancel(stage_next()->timer);

    stage_expects(stage_self->at == stage_self->count || stage_has(outcomes[was]), "it was", was);
}

static inline void stage_wait(const stage_thing *it, int64_t limit, bool expected)
{
    bool empty = it->queue != NULL ? od_queue_wait(it->queue, limit) : it->group == NULL || od_group_wait(it->group, limit);

    stage_expects(empty == expected, it->name, empty);
}

static inline void stage_release(stage_thing *it)
{
    if (it->queue != NULL)
        od_queue_release(it->queue);
    if (it->group != NULL)
        od_group_release(it->group);
    if (it->semaphore != NULL)
        od_semaphore_release(it->semaphore);
    if (it->timer != NULL)
        od_timer_release(it->timer);
    it->queue = NULL;
    it->group = NULL;
    it->semaphore = NULL;
    it->timer = NULL;
}

static inline void stage_end(void)
{
    for EACH_THING (it)
        gate_open(&it->door);
    stage_join();
    for EACH_THING (it)
        stage_wait(it, HANG_NS, true);
    for EACH_THING (it)
        stage_release(it);
}

static inline void stage_stop(void)
{
    int64_t deadline = stage_has("in") ? MILLISECONDS(stage_number()) : INT64_MAX;
    od_stop_report report;

    stage_expects(od_pool_stop(stage.pool, deadline, &report) == OD_OK, "no stop", 0);
    stage_expects(!stage_has("ran") || report.ran == (uint64_t)stage_number(), "ran", report.ran);
    stage_expects(!stage_has("cancelled") || report.cancelled == (uint64_t)stage_number(), "cancelled", report.cancelled);
    stage_expects(!stage_has("stuck") || report.stuck == (uint64_t)stage_number(), "stuck", report.stuck);
    stage_expects(!stage_has("at") || report.stuck_queues[0] == stage_queue(), "stuck elsewhere", 0);
}

/* ---- values ---- */

#define STAGE_SAYS(name, value)                                                           \
    if (strcmp(of, name) == 0)                                                            \
        return (uint64_t)(value);

static inline uint64_t stage_of_queue(od_queue *queue, const char *of)
{
    STAGE_SAYS("pending", od_queue_pending(queue))
    STAGE_SAYS("running", od_queue_running(queue))
    STAGE_SAYS("refused", od_queue_refused(queue))
    STAGE_SAYS("suspended", od_queue_is_suspended(queue))
    STAGE_SAYS("active", od_queue_is_active(queue))
    STAGE_SAYS("alone", od_queue_is_alone(queue))
    STAGE_SAYS("current", od_queue_is_current(queue))
    STAGE_SAYS("here", od_queue_of_thread(0) == queue)
    STAGE_SAYS("width", od_queue_width(queue))
    STAGE_SAYS("limit", od_queue_pending_limit(queue))
    STAGE_SAYS("overflow", od_queue_overflow(queue))
    STAGE_SAYS("held", running_in(queue))
    STAGE_SAYS("waiting", waiting_in(queue))
    STAGE_SAYS("barriers", barriers_in(queue))
    STAGE_SAYS("away", away_from(queue))
    STAGE_SAYS("offered", LOOK(queue, odi_queue_offered(queue)))
    STAGE_SAYS("passes", has_passes(queue))
    STAGE_SAYS("drainers", LOOK(queue, queue->drainers_waiting))
    STAGE_SAYS("back", LOOK(queue, queue->back))
    STAGE_SAYS("complete", LOOK(queue, queue->gate.complete))
    STAGE_SAYS("diverted", odi_load_relaxed(&queue->inbox.diverted)) /* relaxed: no other thread writes it */
    STAGE_SAYS("owes", LOOK(queue, queue->gate.earmarks != 0 || queue->gate.used != 0 || queue->more->first_awaited != NULL))
    STAGE_SAYS("ahead", LOOK(odi_load_relaxed(&queue->target), queue->more->pass_is_ahead))
    STAGE_SAYS("child_passes", LOOK(queue, queue->child_passes))
    STAGE_SAYS("band", od_queue_current_band())
    STAGE_SAYS("early", LOOK(queue, queue->early.count))
    return UINT64_MAX;
}

static inline uint64_t stage_of_pool(od_pool *pool, const char *of)
{
    od_metrics metrics = metrics_of(pool);

    STAGE_SAYS("executed", metrics.executed)
    STAGE_SAYS("cancelled", metrics.cancelled)
    STAGE_SAYS("diverted", metrics.diverted)
    STAGE_SAYS("done", metrics.executed + metrics.cancelled)
    STAGE_SAYS("callers", metrics.ran_on_callers)
    STAGE_SAYS("blocked", blocked_in(pool))
    STAGE_SAYS("armed", od_pool_timers_armed(pool))
    STAGE_SAYS("sleeps", idle_ones_sleep(pool, 1))
    STAGE_SAYS("reported", od_pool_report_workers(pool, &(od_worker_report){0}, 1))
    STAGE_SAYS("urgent", odi_injector_size(&pool->team.sites[0].injectors[OD_BAND_USER_INTERACTIVE]))
    STAGE_SAYS("hinted", odi_load_relaxed(&pool->team.sites[0].bands) | /* relaxed: hints */
                             odi_load_relaxed(&odi_load_acquire(&pool->team.slots[0], W3)->bands))
    STAGE_SAYS("most", atomic_load(&stage.crowd.most))
    STAGE_SAYS("inside", atomic_load(&stage.crowd.inside))
    STAGE_SAYS("band", od_pool_current_band())
    STAGE_SAYS("main", od_thread_is_main())
    STAGE_SAYS("own_band", odi_band_of_thread())
    STAGE_SAYS("overridden", odi_load_relaxed(&odi_overrides.bands)) /* relaxed, and below: read repeatedly */
    STAGE_SAYS("stopping", (odi_load_relaxed(&pool->team.attention) & ODI_STOPPING) != 0)
    return UINT64_MAX;
}

static inline uint64_t stage_of_another(const stage_thing *it, const char *of)
{
    STAGE_SAYS("waiters", waiters_of(&it->group->watch))
    STAGE_SAYS("pending", od_group_pending(it->group))
    STAGE_SAYS("overs", atomic_load(&it->overs))
    STAGE_SAYS("missed", atomic_load(&it->missed))
    STAGE_SAYS("cancelled", od_timer_is_cancelled(it->timer))
    STAGE_SAYS("value", od_semaphore_value(it->semaphore))
    STAGE_SAYS("listed", COUNT_OF(&it->semaphore->lock, it->semaphore->first, after))
    return UINT64_MAX;
}

/* Whether the scene uses this name other than in a query. A misspelt name would always be 0. */
static inline bool stage_is_done(const char *name)
{
    size_t length = strlen(name);

    for (const char *at = stage.text; (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == stage.text || !(isalnum(at[-1]) || strchr("_.", at[-1]) != NULL);
        bool ends = !(isalnum(at[length]) || strchr("_.", at[length]) != NULL);
        const char *next = at + length + strspn(at + length, " ");

        if (begins && ends && strncmp(next, "= ", 2) != 0 && strncmp(next, "->", 2) != 0 && strncmp(next, "<=", 2) != 0 &&
            strncmp(next, ">=", 2) != 0)
            return true;
    }
    return false;
}

static inline uint64_t stage_worth(const char *of)
{
    char name[STAGE_STEP], *dot = strchr(strcpy(name, of), '.');

    if (dot != NULL)
        *dot = '\0';
    stage_expects(strcmp(name, "pool") == 0 || stage_is_done(name), "nothing does this", 0);
    const stage_thing *it = stage_named(name);
    return dot == NULL                 ? (uint64_t)atomic_load(&it->door.waiting)
           : strcmp(name, "pool") == 0 ? stage_of_pool(stage.pool, dot + 1)
           : it->queue != NULL         ? stage_of_queue(it->queue, dot + 1)
                                       : stage_of_another(it, dot + 1);
}

/* A step that begins with a name: a comparison, or the job of that name. */
static inline void stage_compare(const char *of)
{
    bool is = stage_has("="), at_most = stage_has("<="), at_least = stage_has(">=");

    if (!is && !at_most && !at_least && !stage_has("->")) {
        stage_job(stage_named(of));
        return;
    }
    uint64_t number = (uint64_t)stage_number(), found = stage_worth(of);
    if (!is && !at_most)
        (void)COMES_TRUE((found = stage_worth(of)) == number || (at_least && found > number));
    stage_expects(found == number || (at_least && found > number) || (at_most && found < number), "it is", found);
}

static inline void stage_compare_order(const char *word)
{
    char expected[STAGE_ORDER + 1] = "", *rest;
    int length = 0;

    for (; *word != '\0' && *word != '|'; word = rest) {
        long times = strtol(word + 1, &rest, 10);

        for (times += rest == word + 1; times > 0 && length < STAGE_ORDER; times--)
            expected[length++] = *word;
    }
    (void)COMES_TRUE(atomic_load(&stage.ordered) >= length);
    if (*word == '|' && strcmp(stage.order, expected) != 0)
        stage_compare_order(word + 1);
    else
        stage_expects(strcmp(stage.order, expected) == 0, stage.order, 0);
}

/* ---- the interpreter ---- */

#define STAGE_STEP_OF(name, ...)                                                          \
    if (strcmp(verb, name) == 0) {                                                        \
        __VA_ARGS__;                                                                      \
        return;                                                                           \
    }

static inline void stage_step(const char *verb)
{
    STAGE_STEP_OF("lone", stage.pool = lone_worker())
    STAGE_STEP_OF("pool", int workers = (int)stage_number();
                  stage.pool = stage_has("bare") ? pool_without_spares(workers) : pool_of(workers))
    if (stage.pool == NULL)
        stage.pool = pool_of(3);
    STAGE_STEP_OF("queue", stage_make_queue())
    STAGE_STEP_OF("group", stage_next()->group = od_group_create())
    STAGE_STEP_OF("semaphore", stage_thing *it = stage_next(); it->semaphore = od_semaphore_create(stage_number()))
    STAGE_STEP_OF("take", stage_expects(od_semaphore_wait(stage_next()->semaphore, INT64_MAX), "it was none", 0))
    STAGE_STEP_OF("short", od_semaphore *it = stage_next()->semaphore;
                  stage_expects(!od_semaphore_wait(it, 0) && !od_semaphore_wait(it, INT64_MIN), "at once", 0);
                  stage_expects(!od_semaphore_wait(it, 1) && !od_semaphore_wait(it, MILLISECONDS(1)), "it has some", 0))
    STAGE_STEP_OF("signal", bool wakes = od_semaphore_signal(stage_next()->semaphore);
                  stage_expects(stage_self->at == stage_self->count || stage_has(wakes ? "yes" : "no"), "it wakes", wakes))
    STAGE_STEP_OF("timer", stage_make_timer())
    STAGE_STEP_OF("start", od_timer_start(stage_next()->timer))
    STAGE_STEP_OF("disarm", stage_disarm())
    STAGE_STEP_OF("add", stage_add(verb))
    STAGE_STEP_OF("hold", stage_add(verb))
    STAGE_STEP_OF("try", stage_add(verb))
    STAGE_STEP_OF("refuse", stage_add(verb))
    STAGE_STEP_OF("discard", stage_add(verb))
    STAGE_STEP_OF("batch", stage_batch())
    STAGE_STEP_OF("repeat", int64_t times = stage_number(); stage_thing *job = stage_next(); while (times-- > 0) stage_job(job))
    STAGE_STEP_OF("child", stage_child())
    STAGE_STEP_OF("block", od_blocking_begin())
    STAGE_STEP_OF("unblock", od_blocking_end())
    STAGE_STEP_OF("thread", stage_threads())
    STAGE_STEP_OF("join", stage_join())
    STAGE_STEP_OF("inside", stage_inside())
    STAGE_STEP_OF("outside", od_queue_sync_end(&stage_self->scopes[--stage_self->depth]))
    STAGE_STEP_OF("open", while (stage_self->at < stage_self->count) gate_open(&stage_next()->door))
    STAGE_STEP_OF("suspend", od_queue_suspend(stage_queue()))
    STAGE_STEP_OF("resume", od_queue_resume(stage_queue()))
    STAGE_STEP_OF("activate", od_queue_activate(stage_queue()))
    STAGE_STEP_OF("release", stage_release(stage_next()))
    STAGE_STEP_OF("width", od_queue *queue = stage_queue(); od_queue_set_width(queue, (int32_t)stage_number()))
    STAGE_STEP_OF("target", od_queue *queue = stage_queue(); od_queue_set_target(queue, stage_queue()))
    STAGE_STEP_OF("cancel", uint64_t count = od_queue_cancel_all(stage_queue());
                  stage_expects(count == (uint64_t)stage_number(), "it was", count))
    STAGE_STEP_OF("keep", uint32_t places = od_queue_hold(stage_queue());
                  stage_expects(places == stage_number(), "it was", places))
    STAGE_STEP_OF("give", od_queue *queue = stage_queue(); od_queue_unhold(queue, (uint32_t)stage_number()))
    STAGE_STEP_OF("come", crowd_enter(&stage.crowd); if (atomic_fetch_add(&stage.crowd.visits, 1) % 16 == 0) sched_yield())
    STAGE_STEP_OF("go", crowd_leave(&stage.crowd))
    STAGE_STEP_OF("anew", crowd_begin(&stage.crowd))
    STAGE_STEP_OF("lock", pthread_mutex_lock(&stage.mutex))
    STAGE_STEP_OF("unlock", pthread_mutex_unlock(&stage.mutex))
    STAGE_STEP_OF("pause", odi_clock_sleep(MILLISECONDS(stage_number())))
    STAGE_STEP_OF("reach", od_queue *queue = stage_queue(); (void)LOOK(queue, queue->reach = ODI_DRAIN_BATCH_MOST - 1))
    STAGE_STEP_OF("enter", od_group_enter(stage_next()->group))
    STAGE_STEP_OF("leave", od_group_leave(stage_next()->group))
    STAGE_STEP_OF("notify", stage_thing *it = stage_next(); stage_thing *job = stage_next();
                  it->queue != NULL ? (void)od_queue_notify(it->queue, stage_job, job)
                                    : (void)od_group_notify(it->group, stage_job, job))
    STAGE_STEP_OF("wait", stage_wait(stage_next(), HANG_NS, true))
    STAGE_STEP_OF("await", stage_wait(stage_next(), INT64_MAX, true))
    STAGE_STEP_OF("busy", stage_thing *it = stage_next(); stage_wait(it, 0, false); stage_wait(it, MILLISECONDS(1), false))
    STAGE_STEP_OF("stop", stage_stop())
    STAGE_STEP_OF("settle", stage_expects(all_has_run_that_can(stage.pool), "it does not", 0))
    STAGE_STEP_OF("order", stage_compare_order(stage_word()))
    STAGE_STEP_OF("end", stage_end())
    stage_compare(verb);
}

/* Returns the end of a step or word. A block in braces counts as one part. */
static inline char *stage_part(const char *text, const char *separators)
{
    int depth = 0;

    for (; *text != '\0' && (depth > 0 || strchr(separators, *text) == NULL); text++)
        depth += (*text == '{') - (*text == '}');
    return (char *)(uintptr_t)text;
}

static inline void play_step(stage_actor *self)
{
    self->count = self->at = 0;
    for (char *word = strcpy(self->split, self->step), *end; *word != '\0'; word = end) {
        end = stage_part(word, " ");
        for (; *end == ' '; end++)
            *end = '\0';
        self->words[self->count++] = strcmp(word, stage.parameter) == 0 ? stage.value : word;
    }
    const char *value = self->count > 0 ? strpbrk(self->words[0], "={") : NULL;
    if (value != NULL && *value == '=' && value > self->words[0] &&
        (strcmp(value + 1, stage.value) == 0) == (value[-1] == '!'))
        return;
    self->at = value != NULL && *value == '=' && value > self->words[0];
    if (self->count > 0) {
        stage_step(self->words[self->at++]);
        stage_expects(self->at == self->count, "a word too many", (uint64_t)self->at);
    }
}

static inline void play(const char *steps)
{
    stage_actor self = {.count = 0}, *before = stage_self;

    stage_self = &self;
    for (const char *end; *steps != '\0' && *steps != '}'; steps = *end == ';' ? end + 1 : end) {
        steps += strspn(steps, " ");
        end = stage_part(steps, ";}");
        snprintf(self.step, (size_t)(end - steps) + 1 < STAGE_STEP ? (size_t)(end - steps) + 1 : STAGE_STEP, "%s", steps);
        play_step(&self);
    }
    while (self.depth > 0)
        od_queue_sync_end(&self.scopes[--self.depth]);
    stage_self = before;
}

static inline void play_once(const char *scene, const char *steps, const char *parameter, const char *value)
{
    const char *file = stage.file, *text = stage.text;
    int line = stage.line;

    memset(&stage, 0, sizeof stage);
    stage.scene = scene, stage.file = file, stage.line = line, stage.text = text;
    stage.parameter = parameter, stage.value = value;
    play(steps);
    play("end");
    assert_int_equal(od_pool_free(stage.pool), OD_OK);
}

static inline void play_in_child(void *steps)
{
    stage.text = steps;
    play_once("in a child", steps, "", "");
}

static inline void play_scene(const char *scene, const char *text, const char *file, int line)
{
    const char *colon = strchr(text, ':'), *steps = colon != NULL ? colon + 1 : text;
    char head[STAGE_STEP] = "", again[STAGE_STEP];

    stage.file = file, stage.line = line, stage.text = text;
    memcpy(head, text, (size_t)(steps - text));
    char *words = strstr(head, "times") != NULL ? strstr(head, "times") + 5 : head;
    for (long time = words == head ? 1 : strtol(head, NULL, 10); time > 0; time--) {
        char *rest, *parameter = strtok_r(strcpy(again, words), " :", &rest);
        char *value = strtok_r(NULL, " :", &rest); /* "in" */

        if (parameter == NULL)
            play_once(scene, steps, "", "");
        while (value != NULL && (value = strtok_r(NULL, " :", &rest)) != NULL)
            play_once(scene, steps, parameter, value);
    }
}

#endif
