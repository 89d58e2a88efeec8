/* one_run.c — one process: helpers first, then the fault, then pools and waves. What it says
 * last, on stdout, is what the driver shows. */
#include "Faults/one_run.h"

#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/recruit.h"

/* ---- verdicts ---- */

static _Noreturn void leave(const char *verdict, int status, const char *format,
                            va_list arguments)
{
    char line[512];
    int used = snprintf(line, sizeof line, "%s: ", verdict);

    vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    fprintf(stdout, "%s\n", line);
    fflush(stdout);
    _exit(status); /* threads may be anywhere: nothing is torn down */
}

void run_fails(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    leave("failed", 1, format, arguments);
}

void run_skips(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    leave("skipped", SKIPPED, format, arguments);
}

/* ---- threads of our own ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    run *it;
    void (*body)(run *, int);
    unsigned wave;
    int busy;
    int ids[HELPERS + 2]; /* the helpers, main, and who runs beside */
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void *helper(void *raw)
{
    int number = (int)(intptr_t)raw;
    unsigned seen = 0;

    helpers.ids[number] = (int)syscall(SYS_gettid);
    for (;;) {
        pthread_mutex_lock(&helpers.lock);
        if (seen == 0) {
            helpers.busy--;
            pthread_cond_broadcast(&helpers.change);
            seen = 1;
        }
        while (helpers.wave == seen)
            pthread_cond_wait(&helpers.change, &helpers.lock);
        seen = helpers.wave;
        void (*body)(run *, int) = helpers.body;
        run *it = helpers.it;
        pthread_mutex_unlock(&helpers.lock);
        body(it, number);
        pthread_mutex_lock(&helpers.lock);
        if (--helpers.busy == 0)
            pthread_cond_broadcast(&helpers.change);
        pthread_mutex_unlock(&helpers.lock);
    }
    return NULL;
}

void helpers_start(run *it, void (*body)(run *, int))
{
    pthread_mutex_lock(&helpers.lock);
    helpers.it = it;
    helpers.body = body;
    helpers.busy = HELPERS;
    helpers.wave++;
    pthread_cond_broadcast(&helpers.change);
    pthread_mutex_unlock(&helpers.lock);
}

void helpers_wait(void)
{
    pthread_mutex_lock(&helpers.lock);
    while (helpers.busy > 0)
        pthread_cond_wait(&helpers.change, &helpers.lock);
    pthread_mutex_unlock(&helpers.lock);
}

static void make_helpers(void)
{
    helpers.wave = 1;
    helpers.busy = HELPERS;
    helpers.ids[HELPERS] = getpid();
    for (int i = 0; i < HELPERS; i++) {
        pthread_t thread;

        run_expects(__real_pthread_create(&thread, NULL, helper, (void *)(intptr_t)i) == 0,
                    "the suite has no thread of its own");
    }
    helpers_wait();
}

static bool is_ours(int id)
{
    for (int i = 0; i < HELPERS + 2; i++) {
        if (helpers.ids[i] == id)
            return true;
    }
    return false;
}

int engine_threads(int *ids, int most)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    while (tasks != NULL && count < most && (entry = readdir(tasks)) != NULL) {
        int id = (int)strtol(entry->d_name, NULL, 10);

        if (id > 0 && !is_ours(id))
            ids[count++] = id;
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* ---- the thread beside ---- */

static void *beside(void *raw)
{
    run *it = raw;

    helpers.ids[HELPERS + 1] = (int)syscall(SYS_gettid);
    it->fault->beside(it);
    atomic_store(&it->busy, false);
    return NULL;
}

/* ---- rounds and waves ---- */

static void expect_report(run *it, const od_stop_report *report)
{
    ledger *book = &it->book;

    run_expects(report->stuck == 0, "a stop without a deadline left %llu jobs stuck",
                (unsigned long long)report->stuck);
    run_expects(report->cancelled == book->cancelled_before,
                "the report says %llu cancelled, the queues said %llu",
                (unsigned long long)report->cancelled,
                (unsigned long long)book->cancelled_before);
    bool agrees = report->ran <= book->ran_before + atomic_load(&book->called_off_late) &&
                  (it->fault->counts_loosely || report->ran >= book->ran_before);
    run_expects(agrees, "the report says %llu ran, the ledger %llu",
                (unsigned long long)report->ran, (unsigned long long)book->ran_before);
}

static void run_waves(run *it)
{
    int64_t until = odi_clock_now() + it->least_ns;
    int wave = 0;

    do {
        it->work->launch(it);
        it->work->await(it);
        if (++wave % 4 == 3)
            odi_clock_sleep(3 * ODI_MILLISECOND); /* so that workers sleep, too */
        ledger_settle(it);
    } while (wave < it->waves || odi_clock_now() < until ||
             (it->fault->until_beside && atomic_load(&it->busy)));
}

static void forget_ledger(ledger *book)
{
    book->told_cancelled = 0;
    atomic_store(&book->called_off_late, 0);
    book->accepted_before = book->ran_before = book->cancelled_before = 0;
    atomic_store(&book->accepted, 0);
    atomic_store(&book->refused, 0);
    for (int i = 0; i < MOST_JOBS; i++) {
        atomic_store(&book->jobs[i].begun, 0);
        atomic_store(&book->jobs[i].ended, 0);
    }
}

/* False: the pool was refused, which was allowed. */
static bool make_pool(run *it)
{
    char message[256] = "no message";
    od_status status = odi_pool_create_in(&it->options, &it->world, &it->pool, message,
                                          sizeof message);

    it->world.topology = NULL; /* it is the pool's, whatever came of it */
    if (status == OD_OK)
        return true;
    run_expects(status == OD_NO_MEMORY && it->fault->may_refuse, "no pool: %s", message);
    it->fault->disarm(it); /* of those that may be without a pool none asks it */
    return false;
}

/* The pool's first thread, without which it refuses what is submitted, is had before the fault. False: the fault
 * was there before, and refuses it. */
static bool begin_pool(run *it)
{
    if (odi_team_begin(&it->pool->team) == 0)
        return true;
    run_expects(it->fault->starves || it->fault->may_refuse, "the pool has no thread to begin with");
    it->fault->disarm(it);
    run_expects(od_pool_free(it->pool) == OD_OK, "the pool cannot be freed");
    return false;
}

static void stop_and_account(run *it)
{
    od_stop_report report;

    workload_close(it);
    run_expects(od_pool_stop(it->pool, INT64_MAX, &report) == OD_OK, "the stop was refused");
    expect_report(it, &report);
    run_expects(od_pool_free(it->pool) == OD_OK, "the pool cannot be freed");
}

static void one_round(run *it)
{
    const fault *which = it->fault;
    pthread_t thread;

    forget_ledger(&it->book);
    atomic_store(&it->over, false);
    if (!make_pool(it))
        return;
    (void)injection_take(&of_pins); /* the machine was asked: workers pin themselves from here on */
    if (!begin_pool(it))
        return;
    if (which->arm != NULL)
        which->arm(it);
    workload_open(it);
    if (which->finish != NULL) {
        which->finish(it);
        return;
    }
    bool accompanied = which->beside != NULL;
    atomic_store(&it->busy, accompanied);
    if (accompanied)
        run_expects(__real_pthread_create(&thread, NULL, beside, it) == 0,
                    "the suite has no thread of its own");
    run_waves(it);
    atomic_store(&it->over, true);
    if (accompanied)
        pthread_join(thread, NULL);
    if (which->disarm != NULL)
        which->disarm(it);
    stop_and_account(it);
}

int one_run(const fault *which, const workload *work, int number, uint64_t seed)
{
    static run it;

    it.fault = which;
    it.work = work;
    it.number = number;
    it.seed = seed;
    it.random = prng_for(seed, 1);
    it.waves = 3;
    it.least_ns = which->least_ms * ODI_MILLISECOND;
    od_pool_options_init(&it.options);
    it.options.name = "faults";
    it.options.workers = 1 + (int)prng_below(&it.random, 4);
    it.options.placement = OD_PLACEMENT_NONE;
    it.world.first_index = INT64_MAX - 3;

    setvbuf(stdout, NULL, _IOLBF, 1024);
    injection_seed(seed);
    make_helpers();
    int rounds = which->rounds > 0 ? which->rounds : 1;
    for (it.round = 0; it.round < rounds; it.round++) {
        if (which->prepare != NULL && (it.round == 0 || which->arm == which->prepare))
            which->prepare(&it);
        one_round(&it);
    }
    if (which->verify != NULL)
        which->verify(&it);
    run_expects(which->strikes != STRIKES_EVERY_RUN || atomic_load(&it.events) > 0,
                "the fault never struck");
    printf("passed: struck %llu times\n", (unsigned long long)atomic_load(&it.events));
    fflush(stdout);
    _exit(0);
}
