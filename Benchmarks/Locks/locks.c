/* locks.c — how often threads meet at the locks that all of a process's threads share, and how often they call the kernel.
 *
 *     locks ROW THREADS [OPERATIONS]
 *
 * THREADS threads do the row's operation, OPERATIONS times in all. Printed is, for each lock by the expression that the
 * source calls it by: how often it was taken and found taken, per 1,000 operations, and for how many ticks of the processor's
 * clock it was held, which counts none of more than 10,000; then futex calls, membarriers and ticks per operation. The engine is compiled with
 * counted/sleep/lock.h in front, and linked with --wrap for what waits in the kernel.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "include/od_external.h"
#include "include/od_loop.h"
#include "include/od_queue.h"
#include "sleep/lock.h"

/* ---- counts ---- */

enum { MOST_SITES = 256, MOST_THREADS = 512, DEEPEST = 8, MOST_TICKS = 10000 };

typedef struct {
    uint64_t taken, waited, holds, ticks;
} tally;

typedef struct {
    ODI_PAIR_ALIGNED tally sites[MOST_SITES];
    uint64_t futexes, membarriers;
    struct {
        odi_lock *lock;
        tally *tally;
        uint64_t since;
    } held[DEEPEST];
    int depth;
} thread_counts;

static thread_counts counts[MOST_THREADS];
static _Thread_local thread_counts *mine;
static odi_atomic(int) threads_seen, sites_seen;
static const char *names[MOST_SITES];
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
static odi_atomic(bool) counting;

static thread_counts *my_counts(void)
{
    if (mine == NULL) {
        int number = odi_add_relaxed(&threads_seen, 1);

        if (number >= MOST_THREADS)
            abort();
        mine = &counts[number];
    }
    return mine;
}

static int number_of(locks_site *site)
{
    int number = odi_load_relaxed(&site->number);

    if (number != 0)
        return number;
    pthread_mutex_lock(&naming);
    int known = odi_load_relaxed(&sites_seen);
    for (number = 1; number <= known && strcmp(names[number], site->name) != 0;)
        number++;
    if (number >= MOST_SITES)
        abort();
    names[number] = site->name;
    if (number > known)
        odi_store_relaxed(&sites_seen, number);
    odi_store_relaxed(&site->number, number);
    pthread_mutex_unlock(&naming);
    return number;
}

void locks_acquire(odi_lock *lock, locks_site *site)
{
    thread_counts *here = my_counts();
    tally *to = &here->sites[number_of(site)];
    uint16_t is_free = ODI_LOCK_FREE;
    bool waited = !odi_cas_acquire(&lock->word, &is_free, ODI_LOCK_HELD, K1);

    if (waited)
        odi_lock_acquire_slow(lock);
    if (odi_load_relaxed(&counting)) {
        to->taken++;
        to->waited += waited;
    }
    if (here->depth < DEEPEST) {
        here->held[here->depth].lock = lock;
        here->held[here->depth].tally = to;
        here->held[here->depth].since = od_loop_ticks();
    }
    here->depth++;
}

/* The real one: the names in brackets are not the macro's. */
void locks_release(odi_lock *lock)
{
    thread_counts *here = my_counts();
    int top = here->depth - 1;

    if (top >= 0 && top < DEEPEST && here->held[top].lock == lock) {
        uint64_t ticks = od_loop_ticks() - here->held[top].since;
        tally *to = here->held[top].tally;

        if (odi_load_relaxed(&counting) && ticks <= MOST_TICKS) {
            to->holds++;
            to->ticks += ticks;
        }
    }
    (odi_lock_release)(lock);
    here->depth -= here->depth > 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* ---- in step ---- */

/* With the engine compiled for it (-fsanitize-coverage=trace-pc) all threads that are not in the kernel go on at one pace, a
 * piece of straight code each in turn: as on a machine of that many CPUs, whose caches cost nothing. */
static odi_atomic(uint32_t) turns[MOST_THREADS];
static odi_atomic(bool) takes_part[MOST_THREADS];
static _Thread_local bool in_step;
static bool nobodys = true; /* under the lock */
static pthread_mutex_t step_lock = PTHREAD_MUTEX_INITIALIZER;

static void give_turn(int to)
{
    odi_store_release(&turns[to], 1, none);
    (void)__real_syscall(SYS_futex, &turns[to], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Ended by: who had the turn before. */
static void await_turn(int me)
{
    while (odi_load_acquire(&turns[me], none) == 0)
        (void)__real_syscall(SYS_futex, &turns[me], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    odi_store_relaxed(&turns[me], 0);
}

/* Who comes next; -1: nobody else is here. */
static int after(int me)
{
    int seen = odi_load_relaxed(&threads_seen);

    for (int i = 1; i < seen; i++) {
        int each = (me + i) % seen;

        if (odi_load_relaxed(&takes_part[each]))
            return each;
    }
    return -1;
}

static void fall_in(int me)
{
    pthread_mutex_lock(&step_lock);
    odi_store_relaxed(&takes_part[me], true);
    if (nobodys)
        odi_store_relaxed(&turns[me], 1);
    nobodys = false;
    pthread_mutex_unlock(&step_lock);
    in_step = true;
    await_turn(me);
}

static void fall_out(int me)
{
    pthread_mutex_lock(&step_lock);
    odi_store_relaxed(&takes_part[me], false);
    int next = after(me);
    nobodys = next < 0;
    pthread_mutex_unlock(&step_lock);
    in_step = false;
    if (next >= 0)
        give_turn(next);
}

/* Before a thread waits for others outside of the engine, or in the kernel: its turn is the next one's. */
static void leave_step(void)
{
    if (in_step)
        fall_out((int)(my_counts() - counts));
}

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    int me = (int)(my_counts() - counts), next;

    if (!odi_load_relaxed(&counting)) {
        if (in_step)
            fall_out(me);
    } else if (!in_step) {
        fall_in(me);
    } else if ((next = after(me)) >= 0) {
        give_turn(next);
        await_turn(me);
    }
}

long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list rest;

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (odi_load_relaxed(&counting)) {
        my_counts()->futexes += number == SYS_futex;
        my_counts()->membarriers += number == SYS_membarrier;
    }
    leave_step();
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void __real_urcu_memb_synchronize_rcu(void);
void __wrap_urcu_memb_synchronize_rcu(void);

/* It waits for readers, which may wait for their turn. */
void __wrap_urcu_memb_synchronize_rcu(void)
{
    leave_step();
    __real_urcu_memb_synchronize_rcu();
}

/* ---- rows ---- */

typedef struct {
    od_pool *pool;
    od_queue *queue; /* the thread's own */
    od_group *group; /* likewise */
} actor;

static void nothing(void *unused) { (void)unused; }

/* A group's life: its wait runs the job where it was submitted. */
static void live_group(actor *here)
{
    od_group *group = od_group_create();

    (void)od_queue_async(here->queue, group, OD_QUEUE_BAND, nothing, NULL);
    (void)od_group_wait(group, INT64_MAX);
    od_group_release(group);
}

/* The same with a group that lives on. */
static void wait_for_group(actor *here)
{
    (void)od_queue_async(here->queue, here->group, OD_QUEUE_BAND, nothing, NULL);
    (void)od_group_wait(here->group, INT64_MAX);
}

static void cancel(actor *here)
{
    od_queue_suspend(here->queue);
    (void)od_queue_async(here->queue, NULL, OD_QUEUE_BAND, nothing, NULL);
    (void)od_queue_cancel_all(here->queue);
    od_queue_resume(here->queue);
}

static void live_queue(actor *here)
{
    od_queue *queue = od_queue_create(here->pool, OD_BAND_DEFAULT, 1, "");

    (void)od_queue_async(queue, NULL, OD_QUEUE_BAND, nothing, NULL);
    od_queue_release(queue);
}

static void set_target(actor *here)
{
    od_queue_options options = {.band = OD_BAND_DEFAULT, .width = 1, .inactive = true};
    od_queue *queue = od_queue_create_with(here->pool, &options);

    od_queue_set_target(queue, here->queue);
    od_queue_activate(queue);
    od_queue_release(queue);
}

static void fork_outside(actor *here)
{
    (void)here;
    od_join(od_fork(nothing, NULL), nothing, NULL);
}

static const struct {
    const char *name;
    void (*operation)(actor *here);
    od_band band;   /* the queue's */
    bool on_worker; /* the thread is a worker; else it is the program's own */
} rows[] = {
    {"group", live_group, OD_BAND_DEFAULT, true},     {"wait", wait_for_group, OD_BAND_DEFAULT, true},
    {"cancel", cancel, OD_BAND_DEFAULT, true},        {"queue", live_queue, OD_BAND_DEFAULT, true},
    {"target", set_target, OD_BAND_DEFAULT, true},    {"outside", wait_for_group, OD_BAND_DEFAULT, false},
    {"override", wait_for_group, OD_BAND_UTILITY, false}, {"fork", fork_outside, OD_BAND_DEFAULT, false},
};

/* ---- the run ---- */

static od_pool *pool;
static int row, threads, each;
static odi_atomic(int) begun, done;
#ifdef LOCKS_IN_STEP
static odi_atomic(int) entered;
#endif
static odi_atomic(uint64_t) ticks;

/* Ended by: the last of the threads. */
static void meet(odi_atomic(int) *at)
{
    odi_add_acqrel(at, 1, none);
    while (odi_load_acquire(at, none) < threads)
        sched_yield();
}

static void act(void *unused)
{
    actor here = {pool, od_queue_create(pool, rows[row].band, OD_UNLIMITED, ""), od_group_create()};

    (void)unused;
    for (int i = 0; i < 10; i++)
        rows[row].operation(&here);
    meet(&begun);
    odi_store_relaxed(&counting, true);
#ifdef LOCKS_IN_STEP
    odi_add_relaxed(&entered, 1);
    do { /* ended by: the last of the threads */
        __sanitizer_cov_trace_pc();
        sched_yield();
    } while (odi_load_relaxed(&entered) < threads);
#endif
    uint64_t since = od_loop_ticks();
    for (int i = 0; i < each; i++)
        rows[row].operation(&here);
    odi_add_relaxed(&ticks, od_loop_ticks() - since);
    leave_step();
    meet(&done);
    odi_store_relaxed(&counting, false);
    od_group_release(here.group);
    od_queue_release(here.queue);
}

static void *act_outside(void *unused)
{
    act(unused);
    return NULL;
}

static void run(void)
{
    pthread_t outside[MOST_THREADS];

    for (int i = 0; i < threads; i++) {
        if (rows[row].on_worker)
            (void)od_pool_submit(pool, OD_BAND_DEFAULT, act, NULL);
        else if (pthread_create(&outside[i], NULL, act_outside, NULL) != 0)
            abort();
    }
    leave_step(); /* a worker may have begun to count while this thread still submitted */
    while (odi_load_acquire(&done, none) < threads)
        sched_yield();
    for (int i = 0; i < threads && !rows[row].on_worker; i++)
        pthread_join(outside[i], NULL);
    (void)od_pool_stop(pool, INT64_MAX, NULL);
}

static void print(void)
{
    double thousands = (double)each * threads / 1000;
    uint64_t futexes = 0, membarriers = 0;

    for (int number = 1; number <= odi_load_relaxed(&sites_seen); number++) {
        tally sum = {0};

        for (int i = 0; i < odi_load_relaxed(&threads_seen); i++) {
            tally *one = &counts[i].sites[number];

            sum.taken += one->taken;
            sum.waited += one->waited;
            sum.holds += one->holds;
            sum.ticks += one->ticks;
        }
        if ((double)sum.taken >= thousands * 10)
            printf("%s %d %s %.0f %.2f %.0f\n", rows[row].name, threads, names[number], (double)sum.taken / thousands,
                   (double)sum.waited / thousands, (double)sum.ticks / (double)(sum.holds + !sum.holds));
    }
    for (int i = 0; i < odi_load_relaxed(&threads_seen); i++) {
        futexes += counts[i].futexes;
        membarriers += counts[i].membarriers;
    }
    printf("%s %d kernel %.1f %.1f %.0f\n", rows[row].name, threads, (double)futexes / thousands,
           (double)membarriers / thousands, (double)odi_load_relaxed(&ticks) / thousands / 1000);
}

int main(int argc, char **argv)
{
    od_pool_options options;

    while (argc > 2 && row < (int)(sizeof rows / sizeof *rows) && strcmp(rows[row].name, argv[1]) != 0)
        row++;
    if (argc < 3 || row == (int)(sizeof rows / sizeof *rows) || (threads = atoi(argv[2])) < 1 || threads > MOST_THREADS / 4) {
        fprintf(stderr, "locks ROW THREADS [OPERATIONS]\n");
        return 2;
    }
    each = (argc > 3 ? atoi(argv[3]) : 20000) / threads;
    od_pool_options_init(&options);
    options.workers = threads;
    if (od_pool_create(&options, &pool, NULL, 0) != OD_OK)
        return 1;
    run();
    print();
    return 0;
}
