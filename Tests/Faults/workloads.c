/* workloads.c — what the engine is doing while a fault strikes: three kinds of work, each
 * with a ledger in which every job is counted before it is submitted, when it begins and
 * when it ends. */
#include "Faults/faults.h"
#include "Faults/queues.h"
#include "Faults/roll.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the ledger ---- */

job *ledger_job(run *it, void (*body)(job *), int number)
{
    unsigned index = atomic_fetch_add(&it->book.accepted, 1);

    run_expects(index < MOST_JOBS, "the suite's ledger is too small");
    job *entry = &it->book.jobs[index];
    entry->of = it;
    entry->body = body;
    entry->number = number;
    entry->group = NULL;
    return entry;
}

void ledger_told(job *entry, od_status status)
{
    ledger *book = &entry->of->book;

    run_expects(status == OD_OK || status == OD_STOPPED || (status == OD_NO_MEMORY && entry->of->fault->starves),
                "a submission says %d", (int)status);
    atomic_fetch_add(&book->refused, status == OD_NO_MEMORY);
    atomic_store(&entry->refused, status == OD_NO_MEMORY);
}

void run_job(void *raw)
{
    job *entry = raw;

    atomic_fetch_add(&entry->begun, 1);
    if (entry->body != NULL)
        entry->body(entry);
    atomic_fetch_add(&entry->ended, 1);
}

static void tell_metrics(run *it)
{
    od_metrics metrics;

    od_pool_metrics(it->pool, &metrics);
    printf("executed %llu, cancelled %llu, on callers %llu, threads %llu started and %llu "
           "failed, workers %d, active %d, parks %llu, spares %llu\n",
           (unsigned long long)metrics.executed, (unsigned long long)metrics.cancelled,
           (unsigned long long)metrics.ran_on_callers,
           (unsigned long long)metrics.threads_started,
           (unsigned long long)metrics.thread_failures, metrics.workers, metrics.active,
           (unsigned long long)metrics.parks, (unsigned long long)metrics.most_spares);
}

void ledger_settle(run *it)
{
    ledger *book = &it->book;
    unsigned accepted = atomic_load(&book->accepted), ran = 0, open = 0;
    unsigned refused = atomic_load(&book->refused);

    for (unsigned i = 0; i < accepted; i++) {
        unsigned begun = atomic_load(&book->jobs[i].begun);

        run_expects(begun <= 1, "job %u of %u ran %u times", i, accepted, begun);
        ran += begun;
        open += begun != atomic_load(&book->jobs[i].ended);
        atomic_store(&book->jobs[i].begun, 0);
        atomic_store(&book->jobs[i].ended, 0);
        atomic_store(&book->jobs[i].refused, false);
    }
    run_expects(open == 0, "%u jobs have begun and not ended", open);
    accepted -= refused;
    if (ran + book->told_cancelled != accepted)
        tell_metrics(it);
    run_expects(ran + book->told_cancelled == accepted,
                "accepted %u, ran %u, cancelled %llu: lost %lld", accepted, ran,
                (unsigned long long)book->told_cancelled,
                (long long)accepted - (long long)ran - (long long)book->told_cancelled);
    run_expects(atomic_load(&book->too_many) == 0, "a queue's width was exceeded %u times",
                atomic_load(&book->too_many));
    book->accepted_before += accepted;
    book->ran_before += ran;
    book->cancelled_before += book->told_cancelled;
    book->told_cancelled = 0;
    atomic_store(&book->accepted, 0);
    atomic_store(&book->refused, 0);
}

/* ---- waiting, with a limit ---- */

void await_group(run *it, od_group *group, const char *what)
{
    if (od_group_wait(group, LOST_NS))
        return;
    tell_metrics(it);
    run_fails("%s: %llu jobs still pending after 12 s", what,
              (unsigned long long)od_group_pending(group));
}

/* ---- bodies ---- */

static void compute(job *entry)
{
    volatile unsigned sum = 0;

    for (int i = 0; i < 100 + entry->number % 100; i++)
        sum += (unsigned)i;
}

static void within(atomic_uint *running, unsigned width, ledger *book)
{
    if (atomic_fetch_add(running, 1) >= width)
        atomic_fetch_add(&book->too_many, 1);
    for (volatile int i = 0; i < 50; i++) {
    }
    atomic_fetch_sub(running, 1);
}

static void on_serial(job *entry)
{
    within(&entry->of->book.running_serial, 1, &entry->of->book);
}

static void on_limited(job *entry)
{
    within(&entry->of->book.running_limited, 2, &entry->of->book);
}

static void submit(run *it, od_queue *queue, od_group *group, void (*body)(job *), int number)
{
    job *entry = ledger_job(it, body, number);

    entry->group = group;
    ledger_told(entry, od_queue_async(queue, group, OD_QUEUE_BAND, run_job, entry));
}

/* ---- flood: several threads submit at once, with groups and without ---- */

enum { FLOOD = 500 };

static void flood_from(run *it, int helper)
{
    for (int i = 0; i < FLOOD; i++) {
        od_queue *queue = i % 7 == 0 ? it->serial : i % 5 == 0 ? it->other : it->open;

        submit(it, queue, it->groups[helper], queue == it->serial ? on_serial : compute, i);
        if (i % 16 == 0) { /* without a queue: counted by a group all the same */
            job *entry = ledger_job(it, NULL, i);

            ledger_told(entry, od_pool_submit(it->pool, (od_band)(i / 16 % 5), run_job, entry));
        }
    }
    roll_call(helper);
}

static void flood_launch(run *it)
{
    helpers_start(it, flood_from);
    for (int i = 0; i < FLOOD; i++)
        submit(it, it->open, it->groups[HELPERS], compute, i);
    if (it->never_waits)
        helpers_wait();
}

/* Jobs without a queue have nothing to wait on but the ledger. */
static void await_ledger(run *it)
{
    int64_t give_up = odi_clock_after(LOST_NS);
    unsigned accepted = atomic_load(&it->book.accepted), i = 0;

    while (i < accepted) {
        if (atomic_load(&it->book.jobs[i].ended) > 0 || atomic_load(&it->book.jobs[i].refused)) {
            i++;
            continue;
        }
        if (odi_clock_now() > give_up) {
            tell_metrics(it);
            run_fails("job %u of %u has not ended after 12 s", i, accepted);
        }
        odi_clock_sleep(20 * ODI_MICROSECOND);
    }
}

static void flood_await(run *it)
{
    helpers_wait();
    for (int i = 0; i <= HELPERS; i++)
        await_group(it, it->groups[i], "flood");
    await_ledger(it);
}

/* ---- tree: jobs submit jobs, deques grow, and queues with a width sit in between ---- */

enum { TREE_DEPTH = 6, TREE_FAN = 3, BURST = 1500 };

static void tree_node(job *entry)
{
    run *it = entry->of;
    int depth = entry->number;

    if (depth == 1) { /* more at once than a fresh ring holds */
        for (int i = 0; i < BURST / TREE_FAN; i++)
            submit(it, it->open, entry->group, compute, i);
    }
    if (it->fault->starves && it->fault->counts_loosely)
        ; /* memory: a submission that is not kept waits on its worker for the queue's turn, and no thread comes in its place */
    else if (depth % 2 == 0)
        submit(it, it->serial, entry->group, on_serial, depth);
    else
        submit(it, it->limited, entry->group, on_limited, depth);
    for (int i = 0; depth < TREE_DEPTH && i < TREE_FAN; i++)
        submit(it, it->open, entry->group, tree_node, depth + 1);
}

/* A job of the serial queue that submits to its own queue. */
static void serial_link(job *entry)
{
    run *it = entry->of;

    within(&it->book.running_serial, 1, &it->book);
    if (entry->number > 0)
        submit(it, it->serial, entry->group, serial_link, entry->number - 1);
}

static void tree_launch(run *it)
{
    submit(it, it->open, it->groups[0], tree_node, 0);
    submit(it, it->serial, it->groups[1], serial_link, 40);
}

static void tree_await(run *it)
{
    await_group(it, it->groups[0], "tree");
    await_group(it, it->groups[1], "chain on the serial queue");
}

/* ---- mix: jobs that block, jobs that wait for jobs, cancels, suspensions, syncs ---- */

enum { BLOCKERS = 8, CANCELLED = 200, SUSPENDED = 100, INNER = 5 };

static void block(job *entry)
{
    struct timespec rest = {0, 500000};
    bool says = entry->number % 2 == 0;

    if (says)
        od_blocking_begin();
    nanosleep(&rest, NULL);
    if (says)
        od_blocking_end();
}

static void wait_for_children(job *entry)
{
    for (int i = 0; i < INNER; i++)
        submit(entry->of, entry->of->open, entry->group, compute, i);
    /* Where no thread may come in its place it waits for its own children alone, and without a deadline, because
     * with one it would run nothing meanwhile: the watchdog ends a wait that has no end. */
    if (!entry->of->never_waits && entry->of->fault->starves) {
        if (entry->number == 0)
            (void)od_group_wait(entry->group, INT64_MAX);
    } else if (!entry->of->never_waits)
        await_group(entry->of, entry->group, "a job that waits for its children");
}

static void mix_from(run *it, int helper)
{
    if (helper == 0) {
        for (int i = 0; i < CANCELLED; i++)
            submit(it, it->other, i % 2 ? it->groups[0] : NULL, compute, i);
    } else if (helper == 1) {
        for (int i = 0; i < BLOCKERS; i++)
            submit(it, it->open, it->groups[1], block, i);
    } else {
        for (int i = 0; i < SUSPENDED; i++)
            submit(it, i % 3 ? it->limited : it->serial, it->groups[2],
                   i % 3 ? on_limited : on_serial, i);
    }
}

static void mix_launch(run *it)
{
    helpers_start(it, mix_from);
    od_queue_suspend(it->limited);
    for (int i = 0; i < 2; i++) {
        it->inner[i] = ledger_job(it, wait_for_children, i);
        it->inner[i]->group = i == 0 ? it->groups[HELPERS] : it->groups[HELPERS - 2];
        ledger_told(it->inner[i], od_queue_async(it->open, NULL, OD_QUEUE_BAND, run_job, it->inner[i]));
    }
    (void)od_queue_wait(it->other, 50 * ODI_MICROSECOND);
    it->book.told_cancelled += od_queue_cancel_all(it->other);
    od_queue_resume(it->limited);
    if (!it->never_waits) {
        od_scope scope;

        od_queue_sync_begin(it->serial, &scope);
        within(&it->book.running_serial, 1, &it->book);
        od_queue_sync_end(&scope);
    }
    od_queue_set_width(it->limited, 1);
    od_queue_set_width(it->limited, 2);
    if (it->never_waits)
        helpers_wait();
}

static void mix_await(run *it)
{
    helpers_wait();
    it->book.told_cancelled += od_queue_cancel_all(it->other);
    for (int i = 0; i <= HELPERS; i++)
        await_group(it, it->groups[i], "mix");
    run_expects(od_queue_wait(it->open, LOST_NS) && od_queue_wait(it->other, LOST_NS) &&
                    od_queue_wait(it->limited, LOST_NS) && od_queue_wait(it->serial, LOST_NS),
                "a queue is not empty after 12 s");
}

const workload workloads[WORKLOADS] = {
    {"flood", "four threads submit 500 jobs each, with groups, bands and a serial queue; three fill a roster",
     .launch = flood_launch, .await = flood_await, .open = roll_open, .close = roll_close},
    {"tree", "jobs submit jobs: bursts that grow deques, a serial and a limited queue",
     .launch = tree_launch, .await = tree_await},
    {"mix", "jobs that block or wait for jobs; cancel, suspend, resume, sync, set width",
     .launch = mix_launch, .await = mix_await},
    {"queues", "queues on a limited queue that earmarks its places, barriers, timers, forked branches",
     .launch = queues_launch, .await = queues_await, .stopped = queues_stopped, .open = queues_open,
     .close = queues_close},
};

/* ---- queues and groups ---- */

static void give_memory(bool given)
{
    injection_pause(&of_heap, given);
    injection_pause(&of_maps, given);
}

/* Memory may be short for these too; a caller tries again, and so do we. */
void memory_is_short(int tries, const char *what)
{
    if (tries == 50) /* it stays short: nothing can be submitted anyway */
        give_memory(true);
    run_expects(tries < 100, "no memory for %s, though nothing refuses it", what);
}

od_queue *workload_queue(run *it, const od_queue_options *options)
{
    od_queue *queue;

    for (int tries = 0; (queue = od_queue_create_with(it->pool, options)) == NULL; tries++)
        memory_is_short(tries, "a queue");
    return queue;
}

static od_queue *queue_for(run *it, od_band band, int32_t width, const char *label)
{
    return workload_queue(it,
                          &(od_queue_options){.band = band, .width = width, .label = label});
}

static od_group *group_for(void)
{
    od_group *group;

    for (int tries = 0; (group = od_group_create()) == NULL; tries++)
        memory_is_short(tries, "a group");
    return group;
}

void workload_open(run *it)
{
    it->open = queue_for(it, OD_BAND_DEFAULT, OD_UNLIMITED, "open");
    it->other = queue_for(it, OD_BAND_UTILITY, OD_UNLIMITED, "other");
    it->serial = queue_for(it, OD_BAND_USER_INITIATED, 1, "serial");
    it->limited = queue_for(it, OD_BAND_DEFAULT, 2, "limited");
    for (int i = 0; i <= HELPERS; i++)
        it->groups[i] = group_for();
    if (it->work->open != NULL)
        it->work->open(it);
    give_memory(false); /* the work is what is to go without */
}

void workload_close(run *it)
{
    if (it->work->close != NULL)
        it->work->close(it);
    od_queue_release(it->open);
    od_queue_release(it->other);
    od_queue_release(it->serial);
    od_queue_release(it->limited);
    for (int i = 0; i <= HELPERS; i++)
        od_group_release(it->groups[i]);
}
