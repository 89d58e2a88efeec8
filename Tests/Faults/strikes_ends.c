/* strikes_ends.c — runs that do not end by waiting for the last wave: stops with a deadline,
 * and a stack that is used up. */
#include "Faults/strikes.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gate/queue.h"

/* ---- a stop with a stuck job ---- */

#define DEADLINE_NS (1000 * ODI_MILLISECOND)
#define LATEST_NS (1050 * ODI_MILLISECOND)

static atomic_bool stuck_now, may_go;

static void get_stuck(job *entry)
{
    (void)entry;
    atomic_store(&stuck_now, true);
    while (!atomic_load(&may_go))
        odi_clock_sleep(ODI_MILLISECOND);
}

typedef struct {
    unsigned accepted, begun, ended;
} account;

static account take_account(run *it)
{
    account sum = {.accepted = atomic_load(&it->book.accepted)};

    for (unsigned i = 0; i < sum.accepted; i++) {
        unsigned begun = atomic_load(&it->book.jobs[i].begun);

        run_expects(begun <= 1, "job %u ran %u times", i, begun);
        sum.begun += begun;
        sum.ended += atomic_load(&it->book.jobs[i].ended);
    }
    return sum;
}

static bool names(const od_stop_report *report, const od_queue *queue)
{
    for (uint64_t i = 0; i < report->stuck && i < OD_STUCK_NAMED; i++) {
        if (report->stuck_queues[i] == queue)
            return true;
    }
    return false;
}

static uint64_t waiting_in(od_queue *queue)
{
    return queue->line.count + odi_load_relaxed(&queue->inbox.waiting);
}

/* For whoever looks into a failure: which jobs never began. */
static void tell_missing(run *it)
{
    for (unsigned i = 0, told = 0; i < atomic_load(&it->book.accepted) && told < 20; i++) {
        const job *entry = &it->book.jobs[i];

        if (atomic_load(&entry->begun) > 0)
            continue;
        printf("job %u never began: body %p, number %d\n", i,
               (void *)(uintptr_t)entry->body, entry->number);
        told++;
    }
    printf("left in lanes: serial %llu, limited %llu; running %d and %d\n",
           (unsigned long long)waiting_in(it->serial),
           (unsigned long long)waiting_in(it->limited), it->serial->gate.held,
           it->limited->gate.held);
}

/* Timers' calls that waited in their queue are among the cancelled, and no jobs of the ledger. */
static bool is_accepted(run *it, uint64_t sum, account now)
{
    return sum >= now.accepted &&
           sum <= now.accepted + atomic_load(&it->book.called_off_late);
}

static void expect_exact(run *it, const od_stop_report *report, account now)
{
    uint64_t sum = report->ran + report->cancelled + report->stuck;
    bool is_exact = is_accepted(it, sum, now);

    if (!is_exact)
        tell_missing(it);
    run_expects(is_exact,
                "ran %llu + cancelled %llu + stuck %llu is not the accepted %u",
                (unsigned long long)report->ran, (unsigned long long)report->cancelled,
                (unsigned long long)report->stuck, now.accepted);
    run_expects(now.begun == report->ran + report->stuck,
                "%u jobs have begun; the report says ran %llu and stuck %llu", now.begun,
                (unsigned long long)report->ran, (unsigned long long)report->stuck);
}

/* How long this thread was ready to run and had no CPU: the machine's doing, not the stop's. */
static int64_t waited_for_a_cpu(void)
{
    long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");

    if (file != NULL && fscanf(file, "%lld %lld", &ran, &waited) != 2)
        waited = 0;
    if (file != NULL)
        fclose(file);
    return waited;
}

/* One job never ends; the workload goes on around it, or behind it when there is one worker
 * and no spare. */
void stop_with_a_stuck_job(run *it)
{
    static const char *const kinds[] = {"open", "serial"};
    int kind = it->number % 2;
    od_queue *queue = od_queue_create(it->pool, OD_BAND_USER_INTERACTIVE, kind ? 1 : 0,
                                      "stuck here");
    od_stop_report report;

    it->never_waits = true;
    od_queue_async(queue, NULL, OD_QUEUE_BAND, run_job, ledger_job(it, get_stuck, 0));
    for (int i = 0; !atomic_load(&stuck_now); i++) {
        run_expects(i < 10000, "the job that is to be stuck has not begun after 10 s");
        odi_clock_sleep(ODI_MILLISECOND);
    }
    for (int i = 0; i < 50; i++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, run_job, ledger_job(it, NULL, i));
    it->work->launch(it);

    int64_t began = odi_clock_now(), waited = waited_for_a_cpu();
    run_expects(od_pool_stop(it->pool, DEADLINE_NS, &report) == OD_OK, "the stop was refused");
    int64_t took = odi_clock_now() - began;
    waited = waited_for_a_cpu() - waited;
    account now = take_account(it);

    atomic_fetch_add(&it->events, (unsigned long long)(took / ODI_MICROSECOND));
    expect_exact(it, &report, now);
    run_expects(report.stuck == 1, "%llu jobs are stuck, not one",
                (unsigned long long)report.stuck);
    run_expects(names(&report, queue), "the report does not name the %s queue",
                kinds[kind]);
    run_expects(took >= DEADLINE_NS, "the stop gave up after %lld us",
                (long long)(took / ODI_MICROSECOND));
    run_expects(took - waited <= LATEST_NS, "the stop took %lld us, and %lld us to get a CPU",
                (long long)((took - waited) / ODI_MICROSECOND),
                (long long)(waited / ODI_MICROSECOND));

    atomic_store(&may_go, true);
    for (int i = 0; take_account(it).ended < now.begun; i++) {
        run_expects(i < 10000, "the stuck job has not ended 10 s after it could");
        odi_clock_sleep(ODI_MILLISECOND);
    }
    run_expects(od_queue_wait(queue, LOST_NS), "the queue still has jobs after the stop");
    if (it->work->stopped != NULL)
        it->work->stopped(it);
    od_queue_release(queue);
    run_expects(od_pool_free(it->pool) == OD_OK, "the pool cannot be freed");
    account end = take_account(it);
    run_expects(end.begun == now.begun && end.accepted == now.accepted,
                "%u jobs began after the stop had returned", end.begun - now.begun);
}

/* ---- a stop while everything is under way ---- */

/* Jobs that the report calls stuck go on behind it, and what they submit is given up after them. */
static bool is_settled(run *it, const od_stop_report *report, account now)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    return now.begun == now.ended &&
           (report->stuck == 0 || is_accepted(it, now.begun + metrics.cancelled, now));
}

enum { LINGERING = 200 };

static void linger(job *entry)
{
    (void)entry;
    odi_clock_sleep(300 * ODI_MICROSECOND);
}

/* More than any number of workers has done by the latest deadline. */
static void launch_lingering(run *it)
{
    for (int i = 0; i < LINGERING; i++)
        od_queue_async(it->open, NULL, OD_QUEUE_BAND, run_job, ledger_job(it, linger, i));
}

/* What the report calls stuck is about to begin, or has begun. */
static void expect_nothing_began(run *it, const od_stop_report *report, unsigned begun)
{
    unsigned most = report->stuck == 0 ? begun : (unsigned)(report->ran + report->stuck);
    account end = take_account(it);

    run_expects(end.begun <= most, "%u jobs began after the stop had returned; %llu were stuck",
                end.begun - most, (unsigned long long)report->stuck);
}

void stop_under_load(run *it)
{
    od_stop_report report;
    int64_t deadline = prng_below(&it->random, 3000) * ODI_MICROSECOND;

    it->never_waits = true;
    it->work->launch(it);
    if (it->round % 2) /* otherwise all of a wave may be done by then */
        launch_lingering(it);
    run_expects(od_pool_stop(it->pool, deadline, &report) == OD_OK, "the stop was refused");

    unsigned begun = take_account(it).begun;
    account now = take_account(it);
    for (int i = 0; i < 2000 && !is_settled(it, &report, now); i++) {
        odi_clock_sleep(ODI_MILLISECOND);
        now = take_account(it);
    }
    run_expects(now.begun == now.ended, "%u jobs do not end", now.begun - now.ended);
    if (report.stuck == 0)
        expect_exact(it, &report, now);
    else { /* those may have submitted more since, which was discarded */
        od_metrics metrics;

        od_pool_metrics(it->pool, &metrics);
        bool is_exact = is_accepted(it, now.begun + metrics.cancelled, now);
        if (!is_exact)
            tell_missing(it);
        run_expects(is_exact,
                    "begun %u + cancelled %llu is not the accepted %u", now.begun,
                    (unsigned long long)metrics.cancelled, now.accepted);
    }
    if (it->work->stopped != NULL)
        it->work->stopped(it);
    atomic_fetch_add(&it->events, report.cancelled + report.stuck);
    run_expects(od_pool_free(it->pool) == OD_OK, "the pool cannot be freed");
    expect_nothing_began(it, &report, begun);
}

/* ---- a stack that is used up ---- */

static volatile unsigned depths;

enum { DEEPEST = 100000000 }; /* frames: far more than a stack has room for */

static __attribute__((noinline)) void descend(volatile char *above)
{
    volatile char frame[512];

    frame[0] = (char)(above[0] + 1);
    if (++depths > 0)
        descend(frame);
    above[0] = frame[0];
}

/* Whether the fault lies in the guard of this thread's stack is looked at before the engine's
 * own handler looks, which runs next and has the last word. */
static _Thread_local uintptr_t guard_from, guard_to;
static struct sigaction engines;

static void say_where(int signal, siginfo_t *info, void *machine)
{
    static const char in[] = "the fault lies in the guard\n", out[] = "the fault lies elsewhere\n";
    uintptr_t address = (uintptr_t)info->si_addr;
    bool is_in = address >= guard_from && address < guard_to;

    (void)machine;
    if (write(STDOUT_FILENO, is_in ? in : out, is_in ? sizeof in - 1 : sizeof out - 1) < 0)
        _exit(1);
    sigaction(signal, &engines, NULL); /* the access is tried again */
}

static void find_guard(void)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0, guard = 0;

    run_expects(pthread_getattr_np(pthread_self(), &attributes) == 0, "a stack is nowhere");
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    run_expects(guard > 0, "a worker's stack has no guard");
    guard_from = (uintptr_t)lowest - guard;
    guard_to = (uintptr_t)lowest + guard; /* where the guard counts as a part of the stack */
}

static void descend_for_ever(job *entry)
{
    volatile char frame[1] = {(char)entry->number};
    struct sigaction ours = {.sa_sigaction = say_where, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    find_guard();
    sigaction(SIGSEGV, &ours, &engines);
    descend(frame);
}

void overflow_a_stack(run *it)
{
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    it->work->launch(it);
    od_queue_async(it->open, NULL, OD_QUEUE_BAND, run_job,
                   ledger_job(it, descend_for_ever, 0));
    /* As long as it goes deeper, however slow the machine is. */
    for (unsigned before = ~0u; depths != before && depths < DEEPEST;) {
        before = depths;
        odi_clock_sleep(10 * ODI_SECOND);
    }
    run_fails("the stack has no end: %u frames deep", depths);
}
