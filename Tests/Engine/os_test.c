/* os/: futexes, threads, pages, clocks, and the asymmetric fence in both its forms. */
#include "Support/clock.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/thread_failure.h"
#include "Support/watchdog.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache_line.h"
#include "include/od_pool.h"
#include "os/affinity.h"
#include "os/futex.h"
#include "os/membarrier.h"
#include "os/numa.h"
#include "os/overflow.h"
#include "os/pages.h"
#include "os/process.h"
#include "os/source.h"
#include "os/thread.h"

/* ---- futex ---- */

TEST(a_wait_on_a_changed_word_returns_at_once)
{
    odi_atomic(uint32_t) word;

    odi_store_relaxed(&word, 1);
    assert_int_equal(odi_futex_wait(&word, 0, ODI_FOREVER), ODI_FUTEX_CHANGED);
}

TEST(a_deadline_that_has_passed_ends_the_wait_at_once)
{
    odi_atomic(uint32_t) word;

    odi_store_relaxed(&word, 0);
    assert_int_equal(odi_futex_wait(&word, 0, 0), ODI_FUTEX_TIMED_OUT);
    assert_int_equal(odi_futex_wait(&word, 0, INT64_MIN), ODI_FUTEX_TIMED_OUT);
    assert_int_equal(odi_futex_wait(&word, 0, odi_clock_now() - 1), ODI_FUTEX_TIMED_OUT);
}

TEST(a_wait_does_not_end_before_its_deadline)
{
    odi_atomic(uint32_t) word;
    int64_t deadline = odi_clock_after(MILLISECONDS(20));

    odi_store_relaxed(&word, 0);
    while (odi_futex_wait(&word, 0, deadline) != ODI_FUTEX_TIMED_OUT) {
    }
    assert_true(odi_clock_now() >= deadline);
}

typedef struct {
    odi_atomic(uint32_t) word;
    atomic_int woken;
} sleepers;

static void *sleep_on(void *raw)
{
    sleepers *all = raw;

    odi_futex_wait(&all->word, 0, ODI_FOREVER); /* the word stays: only a wake ends it */
    atomic_fetch_add(&all->woken, 1);
    return NULL;
}

TEST(a_wake_counts_those_it_woke)
{
    sleepers all = {0};
    pthread_t threads[3];
    int woken = 0;

    assert_int_equal(odi_futex_wake(&all.word, 1), 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, sleep_on, &all);
    while (woken < 3) { /* who is not asleep yet is not counted, and comes to sleep */
        int one = odi_futex_wake(&all.word, 1);

        assert_true(one == 0 || one == 1);
        woken += one;
        sched_yield();
    }
    assert_comes_true(atomic_load(&all.woken) == 3);
    join_threads(threads, 3);
    assert_int_equal(odi_futex_wake(&all.word, 3), 0);
}

static void *sleep_after_a_time_out(void *raw)
{
    sleepers *all = raw;

    errno = ETIMEDOUT;
    atomic_fetch_add(&all->woken, odi_futex_wait(&all->word, 0, ODI_FOREVER) == ODI_FUTEX_WOKEN);
    return NULL;
}

TEST(a_wake_is_no_time_out_whatever_failed_before)
{
    sleepers one = {0};
    pthread_t thread;

    pthread_create(&thread, NULL, sleep_after_a_time_out, &one);
    while (odi_futex_wake(&one.word, 1) == 0)
        sched_yield();
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&one.woken), 1);
}

static void interrupt(int signal) {}

static void *interrupt_often(void *raw)
{
    pthread_t target = *(pthread_t *)raw;

    for (int i = 0; i < 200; i++) {
        pthread_kill(target, SIGUSR1);
        odi_clock_sleep(100 * ODI_MICROSECOND);
    }
    return NULL;
}

TEST(signals_end_waits_early_and_do_not_move_their_deadlines)
{
    struct sigaction action = {.sa_handler = interrupt};
    odi_atomic(uint32_t) word;
    pthread_t self = pthread_self(), other;
    int early = 0;

    sigaction(SIGUSR1, &action, NULL);
    odi_store_relaxed(&word, 0);
    pthread_create(&other, NULL, interrupt_often, &self);
    for (int rounds = 0; rounds < 100 && early == 0; rounds++) { /* the other may not run at once */
        int64_t deadline = odi_clock_after(MILLISECONDS(30));

        while (odi_futex_wait(&word, 0, deadline) != ODI_FUTEX_TIMED_OUT)
            early++;
        assert_true(odi_clock_now() >= deadline);
    }
    assert_true(early > 0);
    int64_t until = odi_clock_after(MILLISECONDS(5));
    odi_clock_sleep(MILLISECONDS(5)); /* and sleeping is not shortened either */
    assert_true(odi_clock_now() >= until);
    pthread_join(other, NULL);
}

/* ---- clock ---- */

TEST(a_deadline_far_away_is_the_end_of_time)
{
    assert_true(odi_clock_after(INT64_MAX) == INT64_MAX);
    assert_true(odi_clock_after(INT64_MAX - 1) == INT64_MAX);
    int64_t now = odi_clock_now();
    assert_true(odi_clock_after(-5) >= now);
    assert_true(odi_clock_after(INT64_MIN) < INT64_MAX);
}

/* ---- threads ---- */

typedef struct {
    gate door;
    atomic_bool started;
    char name[16];
    bool async_blocked, fault_open, detached;
    size_t guard;
    int id, cpu_clock;
} visitor;

static void visit(void *raw)
{
    visitor *it = raw;
    sigset_t blocked;
    pthread_attr_t attributes;
    int state = -1;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getdetachstate(&attributes, &state);
    pthread_attr_getguardsize(&attributes, &it->guard);
    pthread_attr_destroy(&attributes);
    it->detached = state == PTHREAD_CREATE_DETACHED;
    pthread_getname_np(pthread_self(), it->name, sizeof it->name);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    it->async_blocked = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1) &&
                        sigismember(&blocked, SIGALRM) && sigismember(&blocked, SIGINT);
    it->fault_open = !sigismember(&blocked, SIGSEGV) && !sigismember(&blocked, SIGBUS) &&
                     !sigismember(&blocked, SIGFPE) && !sigismember(&blocked, SIGABRT) &&
                     !sigismember(&blocked, SIGILL) && !sigismember(&blocked, SIGTRAP) &&
                     !sigismember(&blocked, SIGSYS) && !sigismember(&blocked, SIGPROF);
    it->id = odi_thread_id();
    it->cpu_clock = odi_thread_cpu_clock();
    atomic_store(&it->started, true);
    gate_pass(&it->door);
    atomic_store(&it->started, false);
}

static void say_that_it_began(void *began) { atomic_store((atomic_bool *)began, true); }

TEST_UNSANITIZED(a_stack_smaller_than_a_thread_can_have_is_as_large_as_that, NULL, NULL)
{
    atomic_bool began = false;

    assert_int_equal(odi_thread_start(say_that_it_began, &began, 1, "small"), 0);
    assert_comes_true(atomic_load(&began));
}

TEST(a_thread_has_a_name_and_no_asynchronous_signals)
{
    visitor it = {0};
    sigset_t before, after;

    sigemptyset(&before);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(odi_thread_start(visit, &it, 1 << 20, "a-rather-long-name"), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_comes_true(atomic_load(&it.started));
    assert_string_equal(it.name, "a-rather-long-n");
    assert_true(it.async_blocked);
    assert_true(it.fault_open && it.detached);
    assert_true(it.guard >= ODI_STACK_GUARD);
    assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
    assert_true(it.id != odi_thread_id() && od_thread_is_main());
    gate_open(&it.door);
    assert_comes_true(!atomic_load(&it.started));
    assert_comes_true(thread_count() == threads_at_rest());
}

/* ---- the process's state ---- */

typedef struct {
    atomic_bool came;
    odi_cpu_mask cpus;
    int nice, policy;
    bool pipe_blocked;
} worker_state;

static void note_state(void *raw)
{
    worker_state *it = raw;
    sigset_t blocked;

    (void)odi_affinity_get(0, &it->cpus);
    it->nice = getpriority(PRIO_PROCESS, 0);
    it->policy = sched_getscheduler(0);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    it->pipe_blocked = sigismember(&blocked, SIGPIPE);
    atomic_store(&it->came, true);
}

static bool may_raise_itself(void)
{
    const struct sched_param none = {0};
    bool may = setpriority(PRIO_PROCESS, (id_t)odi_thread_id(), 1) == 0 &&
               setpriority(PRIO_PROCESS, (id_t)odi_thread_id(), 0) == 0;

    return may && sched_setscheduler(0, SCHED_OTHER, &none) == 0;
}

/* A thread with one CPU, nice 15 and SCHED_IDLE starts one. */
static void *start_from_below(void *raw)
{
    const struct sched_param none = {0};
    odi_cpu_mask one;

    if (!may_raise_itself())
        return NULL;
    (void)odi_affinity_get(0, &one);
    int first = odi_cpu_mask_next(&one, 0);
    odi_cpu_mask_clear(&one);
    odi_cpu_mask_add(&one, first);
    assert_int_equal(odi_affinity_set(&one), 0);
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)odi_thread_id(), 15), 0);
    assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    assert_int_equal(odi_thread_start(note_state, raw, 1 << 20, "below"), 0);
    return raw;
}

TEST(a_started_thread_has_the_process_cpus_nice_value_and_policy)
{
    worker_state it = {0};
    odi_cpu_mask all;
    pthread_t below;
    void *started;

    assert_int_equal(odi_affinity_get(0, &all), 0);
    assert_int_equal(pthread_create(&below, NULL, start_from_below, &it), 0);
    pthread_join(below, &started);
    if (started == NULL)
        skip();
    assert_comes_true(atomic_load(&it.came));
    assert_true(odi_cpu_mask_equal(&it.cpus, &all));
    assert_int_equal(it.nice, getpriority(PRIO_PROCESS, 0));
    assert_int_equal(it.policy, sched_getscheduler(0));
}

static void *start_one(void *raw)
{
    assert_int_equal(odi_thread_start(note_state, raw, 1 << 20, "pipes"), 0);
    return NULL;
}

TEST(a_started_thread_blocks_sigpipe_only_if_the_main_thread_does)
{
    sigset_t pipes;
    pthread_t other;

    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    for (int blocked = 0; blocked <= 1; blocked++) {
        for (int elsewhere = 0; elsewhere <= 1; elsewhere++) {
            worker_state it = {0};

            pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &pipes, NULL);
            if (elsewhere) {
                assert_int_equal(pthread_create(&other, NULL, start_one, &it), 0);
                pthread_join(other, NULL);
            } else
                (void)start_one(&it);
            assert_comes_true(atomic_load(&it.came));
            assert_int_equal(it.pipe_blocked, blocked);
        }
    }
    pthread_sigmask(SIG_UNBLOCK, &pipes, NULL);
}

/* ---- children by posix_spawn ---- */

typedef struct {
    atomic_int status[3]; /* of a child by posix_spawn, by posix_spawnp, and with a mask of the caller's */
    atomic_bool may_begin, came, mask_stays; /* a thread that starts another one blocks all signals for a moment */
} spawner;

static int finish(int error, pid_t child)
{
    int status = -1;

    if (error == 0)
        (void)waitpid(child, &status, 0);
    return status;
}

/* SIGUSR1 is bit 9 of a mask, SIGUSR2 bit 11. */
static void spawn_three(void *raw)
{
    char *usr1[] = {"grep", "-q", "^SigBlk:.0000000000000200$", "/proc/self/status", NULL};
    char *usr2[] = {"grep", "-q", "^SigBlk:.0000000000000800$", "/proc/self/status", NULL};
    spawner *it = raw;
    posix_spawnattr_t attributes;
    sigset_t chosen, before, after;
    pid_t child;

    assert_comes_true(atomic_load(&it->may_begin));
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    atomic_store(&it->status[0], finish(posix_spawn(&child, "/bin/grep", NULL, NULL, usr1, environ), child));
    posix_spawnattr_init(&attributes);
    atomic_store(&it->status[1], finish(posix_spawnp(&child, "grep", NULL, &attributes, usr1, environ), child));
    sigemptyset(&chosen);
    sigaddset(&chosen, SIGUSR2);
    posix_spawnattr_setsigmask(&attributes, &chosen);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    atomic_store(&it->status[2], finish(posix_spawn(&child, "/bin/grep", NULL, &attributes, usr2, environ), child));
    posix_spawnattr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    atomic_store(&it->mask_stays, sigismember(&before, SIGTERM) && sigismember(&after, SIGTERM));
    atomic_store(&it->came, true);
}

/* The main thread blocks the signal after the thread's start, as for sigwait. A sanitizer has a posix_spawn too. */
TEST_UNSANITIZED(a_spawned_child_has_the_signal_mask_of_the_main_threads_children, NULL, NULL)
{
    spawner it = {.status = {-1, -1, -1}};
    sigset_t usr1, before;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_int_equal(odi_thread_start(spawn_three, &it, 1 << 20, "spawns"), 0);
    pthread_sigmask(SIG_SETMASK, &usr1, &before);
    atomic_store(&it.may_begin, true);
    assert_comes_true(atomic_load(&it.came));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&it.status[i]), 0);
    assert_true(atomic_load(&it.mask_stays));
}

/* glibc's posix_spawn blocks all signals in its caller until the child has executed its program. */
typedef struct {
    atomic_bool came;
    atomic_int blocked;
} spawned_beside;

static void spawn_many(void *raw)
{
    char *none[] = {"grep", "-q", "^SigBlk:.0000000000000000$", "/proc/self/status", NULL};
    spawned_beside *it = raw;
    pid_t child;

    for (int i = 0; i < 40; i++)
        atomic_fetch_add(&it->blocked, finish(posix_spawn(&child, "/bin/grep", NULL, NULL, none, environ), child) != 0);
    atomic_store(&it->came, true);
}

TEST_UNSANITIZED(a_spawned_child_blocks_no_signal_while_the_main_thread_spawns, NULL, NULL)
{
    char *nothing[] = {"true", NULL};
    spawned_beside it = {0};
    pid_t child;

    assert_int_equal(odi_thread_start(spawn_many, &it, 1 << 20, "spawns"), 0);
    while (!atomic_load(&it.came))
        (void)finish(posix_spawnp(&child, "true", NULL, NULL, nothing, environ), child);
    assert_int_equal(atomic_load(&it.blocked), 0);
}

static atomic_int widest_status;

static void note_widest(void *raw)
{
    char *count[] = {"sh", "-c", "test $(nproc) -eq $0", raw, NULL};
    pid_t child;
    odi_cpu_mask one;

    (void)odi_affinity_get(0, &one);
    int first = odi_cpu_mask_next(&one, 0);
    odi_cpu_mask_clear(&one);
    odi_cpu_mask_add(&one, first);
    (void)odi_affinity_set(&one);
    odi_process_note_placement();
    atomic_store(&widest_status, finish(posix_spawnp(&child, "sh", NULL, NULL, count, environ), child));
}

TEST_UNSANITIZED(a_child_that_a_placed_thread_spawns_has_the_process_cpus, NULL, NULL)
{
    char cpus[16];
    odi_cpu_mask all;

    assert_int_equal(odi_affinity_get(0, &all), 0);
    snprintf(cpus, sizeof cpus, "%d", odi_cpu_mask_count(&all));
    atomic_store(&widest_status, -1);
    assert_int_equal(odi_thread_start(note_widest, cpus, 1 << 20, "placed"), 0);
    assert_comes_true(atomic_load(&widest_status) >= 0);
    assert_int_equal(atomic_load(&widest_status), 0);
}

static void expect_no_signal_blocked(void *unused)
{
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    child_expects(!sigismember(&blocked, SIGTERM) && !sigismember(&blocked, SIGINT));
}

static outcome of_a_workers_child;
static atomic_bool has_started; /* until then the main thread blocks what its new thread begins with */

static void fork_on_the_thread(void *raw)
{
    assert_comes_true(atomic_load(&has_started));
    of_a_workers_child = in_a_child(expect_no_signal_blocked, NULL, 60);
    note_state(raw);
}

TEST(a_child_of_a_started_thread_blocks_what_the_main_thread_blocks)
{
    worker_state it = {0};

    assert_int_equal(odi_thread_start(fork_on_the_thread, &it, 1 << 20, "forks"), 0);
    atomic_store(&has_started, true);
    assert_comes_true(atomic_load(&it.came));
    assert_int_equal(of_a_workers_child.status, 0);
}

static void expect_the_first_thread(void *unused) { child_expects(od_thread_is_main()); }

static void *fork_from_a_later_thread(void *forks)
{
    assert_false(od_thread_is_main());
    *(outcome *)forks = in_a_child(expect_the_first_thread, NULL, 60);
    assert_false(od_thread_is_main());
    return NULL;
}

/* A thread is asked once, and its child's only thread is another one. */
TEST(a_later_threads_child_begins_with_its_first_thread)
{
    outcome it = {.status = -1};
    pthread_t later;

    assert_int_equal(pthread_create(&later, NULL, fork_from_a_later_thread, &it), 0);
    pthread_join(later, NULL);
    assert_int_equal(it.status, 0);
    assert_true(od_thread_is_main());
}

TEST(a_sleeping_thread_is_seen_to_sleep_and_to_use_no_time)
{
    visitor it = {0};

    assert_int_equal(odi_thread_start(visit, &it, 1 << 20, "sleeper"), 0);
    assert_comes_true(atomic_load(&it.started));
    assert_comes_true(odi_thread_sleeps(it.id) == 1);
    pthread_setname_np(pthread_self(), ") S ("); /* as the kernel writes it of one that sleeps, behind a name */
    assert_int_equal(odi_thread_sleeps(odi_thread_id()), 0);
    int64_t used = odi_clock_cpu(it.cpu_clock);
    assert_true(used >= 0);
    gate_open(&it.door);
    assert_comes_true(!atomic_load(&it.started));
    assert_comes_true(odi_thread_sleeps(it.id) == -1);
    assert_true(odi_clock_cpu(it.cpu_clock) == -1);
}

typedef struct {
    int ends[2];
    atomic_int id;
    atomic_bool over;
} forker;

/* As in vfork, but with memory of its own, which sanitizers need: the child ends when it is told. */
static void wait_for_the_child(void *raw)
{
    forker *it = raw;
    char byte;

    atomic_store(&it->id, odi_thread_id());
    long child = syscall(SYS_clone, CLONE_VFORK, NULL, NULL, NULL, NULL);
    if (child == 0) {
        (void)syscall(SYS_close, it->ends[1]); /* it ends with who tells it, too */
        (void)syscall(SYS_read, it->ends[0], &byte, 1);
        (void)syscall(SYS_exit_group, 0);
    }
    (void)waitpid((pid_t)child, NULL, __WALL);
    atomic_store(&it->over, true);
}

/* No signal wakes it from there, as from a disk: it is blocked as much as one that sleeps. */
TEST(a_thread_that_waits_for_its_vfork_is_seen_to_sleep)
{
    forker it = {0};

    if (UNDER_EMULATOR)
        skip(); /* its vfork is a fork */
    assert_int_equal(pipe(it.ends), 0);
    assert_int_equal(odi_thread_start(wait_for_the_child, &it, 1 << 20, "forker"), 0);
    assert_comes_true(atomic_load(&it.id) != 0);
    assert_comes_true(odi_thread_sleeps(atomic_load(&it.id)) == 1);
    assert_int_equal(write(it.ends[1], "", 1), 1);
    assert_comes_true(atomic_load(&it.over));
    close(it.ends[0]);
    close(it.ends[1]);
}

static atomic_int refusals;

static int refuse_first(void) { return atomic_fetch_sub(&refusals, 1) > 0 ? EAGAIN : 0; }

TEST(a_stack_that_cannot_be_had_is_halved)
{
    visitor it = {0};

    atomic_store(&refusals, 3);
    atomic_store(&before_thread, refuse_first);
    assert_int_equal(odi_thread_start(visit, &it, (size_t)8 << 20, "smaller"), 0);
    atomic_store(&before_thread, NULL);
    assert_comes_true(atomic_load(&it.started));
    gate_open(&it.door);
    assert_comes_true(!atomic_load(&it.started));
}

/* Who waits for a thread that the kernel keeps from running must let it run, whatever its priority. */
TEST(who_gives_way_again_and_again_sleeps)
{
    int64_t before = odi_clock_now();

    odi_thread_give_way(1000);
    assert_true(odi_clock_now() - before >= 50 * ODI_MICROSECOND);
}

static void watch_this_stack_and_end(void *unused)
{
    stack_t stack = {0};

    odi_overflow_begin();
    odi_overflow_end(); /* what the kernel would run a handler on is freed */
    child_expects(sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE);
}

TEST(a_stack_that_is_watched_no_more_has_no_handlers_stack) { assert_child_succeeds(watch_this_stack_and_end, NULL); }

TEST(a_thread_that_cannot_be_had_is_an_error_value)
{
    visitor it = {0};
    sigset_t now;

    atomic_store(&before_thread, no_thread);
    atomic_store(&thread_attempts, 0);
    assert_int_equal(odi_thread_start(visit, &it, 4 * ODI_STACK_HALVED, "none"), EAGAIN);
    assert_int_equal(atomic_load(&thread_attempts), 3); /* 4, 2 and 1 MiB */
    atomic_store(&before_thread, NULL);
    assert_false(atomic_load(&it.started));
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_int_equal(sigismember(&now, SIGUSR1), 0); /* the caller's are as they were */
}

/* ---- pages ---- */

TEST(pages_are_zeroed_aligned_and_writable_at_every_size)
{
    static const size_t sizes[] = {1, 64, 4096, 32767, 32768, 32769, 1 << 20};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int round = 0; round < 3; round++) {
            unsigned char *pages = odi_pages_new(sizes[i], round - 1);

            assert_non_null(pages);
            assert_int_equal((uintptr_t)pages % ODI_CACHE_PAIR, 0);
            for (size_t byte = 0; byte < sizes[i]; byte += 61)
                assert_int_equal(pages[byte], 0);
            memset(pages, 0xa5, sizes[i]);
            odi_pages_free(pages, sizes[i]);
        }
    }
    odi_pages_free(NULL, 5);
    odi_pages_free_reserved(NULL, 5);
}

static void give_back_nothing(void *unused)
{
    odi_pages_free(NULL, ((size_t)1 << 47) - (size_t)sysconf(_SC_PAGESIZE));
}

/* It would be what lies at the beginning of memory: here, all of the process. */
TEST(what_was_not_to_be_had_is_not_given_back) { assert_child_succeeds(give_back_nothing, NULL); }

TEST(a_size_that_no_machine_has_is_refused)
{
    assert_null(odi_pages_new((size_t)1 << 60, ODI_ANY_NODE));
    assert_null(odi_pages_reserve((size_t)1 << 60));
}

TEST(reserved_pages_cost_memory_where_they_are_touched)
{
    enum { SIZE = 256 << 20 };
    long before = resident_kib();
    char *pages = odi_pages_reserve(SIZE);

    assert_non_null(pages);
    pages[SIZE / 2] = 1;
    assert_int_equal(pages[SIZE - 1], 0);
    if (!SANITIZED)
        assert_true(resident_kib() - before < 16 * 1024);
    odi_pages_free_reserved(pages, SIZE);
}

/* The kernel's flags of the mapping at an address, as in proc(5). */
static bool has_flag(const void *at, const char *flag)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long from, to;
    char line[512];
    bool here = false, has = false;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = from <= (uintptr_t)at && (uintptr_t)at < to;
        has |= here && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag) != NULL;
    }
    fclose(maps);
    return has;
}

TEST(what_is_reserved_is_no_promise_and_has_small_pages_before_a_guard)
{
    enum { SIZE = 8 << 20 };
    char *pages = odi_pages_reserve_guarded(SIZE);

    assert_non_null(pages);
    assert_true(has_flag(pages, " nr"));
    assert_true(has_flag(pages, " nh") || access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0 ||
                getenv("EMULATED") != NULL); /* which does not hand advice on */
    assert_true(has_flag(pages, " rd") && has_flag(pages + SIZE - sysconf(_SC_PAGESIZE) - 1, " rd"));
    assert_false(has_flag(pages + SIZE - 1, " rd"));
    odi_pages_free_reserved(pages, SIZE);
}

/* The kernel takes nothing back of what is locked in memory. */
TEST(what_is_locked_in_memory_is_cleared_too)
{
    enum { SIZE = 16 * 1024 };
    char *pages = odi_pages_reserve(SIZE);

    if (mlock(pages, SIZE) != 0)
        skip();
    memset(pages, 1, SIZE);
    odi_pages_clear_reserved(pages, SIZE);
    assert_int_equal(pages[0] + pages[SIZE - 1], 0);
    odi_pages_free_reserved(pages, SIZE);
}

/* ---- files ---- */

/* Whose tree it is may have left a pipe there that nobody writes to. */
TEST(what_is_read_is_no_childs_and_makes_nobody_wait)
{
    char root[] = "/tmp/overdrive-XXXXXX", path[64];

    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/pipe", root);
    assert_int_equal(mkfifo(path, 0600), 0);
    odi_source source = odi_source_at(root);
    FILE *file = source.open(&source, "/pipe");
    assert_non_null(file);
    assert_true(fcntl(fileno(file), F_GETFD) & FD_CLOEXEC);
    fclose(file);
    unlink(path);
    rmdir(root);
}

/* ---- the asymmetric fence ---- */

/* So many rounds; fewer where a heavy fence, or the other thread's turn, takes long. */
enum { FENCE_ROUNDS = UNLESS_SANITIZED(10000, 2000), FEWEST_ROUNDS = 500, FENCE_SECONDS = 5 };

static struct {
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) x;
    ODI_PAIR_ALIGNED odi_atomic(uint32_t) y;
    ODI_PAIR_ALIGNED atomic_int round;
    int64_t start_ns; /* of the round, for both sides: out of step neither can miss the other */
    ODI_PAIR_ALIGNED atomic_int done;
    uint32_t light_saw;
} litmus;

enum { NO_MORE_ROUNDS = INT_MAX };

static void await_start(void)
{
    while (odi_clock_now() < litmus.start_ns) {
    }
}

static void *light_side(void *unused)
{
    for (int round = 1;; round++) {
        for (int spins = 0; atomic_load(&litmus.round) < round; spins++) {
            if (spins > 1000)
                sched_yield();
        }
        if (atomic_load(&litmus.round) == NO_MORE_ROUNDS)
            return NULL;
        await_start();
        odi_store_relaxed(&litmus.x, 1);
        odi_fence_light(none);
        litmus.light_saw = odi_load_relaxed(&litmus.y);
        atomic_store(&litmus.done, round);
    }
}

/* Store buffering: at least one side sees what the other wrote. Returns the failures. */
static int store_buffering(void)
{
    pthread_t light;
    int neither = 0;
    int64_t enough = odi_clock_now() + SECONDS(FENCE_SECONDS);

    atomic_store(&litmus.round, 0);
    atomic_store(&litmus.done, 0);
    pthread_create(&light, NULL, light_side, NULL);
    for (int round = 1; round <= FENCE_ROUNDS; round++) {
        if (round > FEWEST_ROUNDS && odi_clock_now() > enough)
            break;
        odi_store_relaxed(&litmus.x, 0);
        odi_store_relaxed(&litmus.y, 0);
        litmus.start_ns = odi_clock_now() + 500;
        atomic_store(&litmus.round, round);
        await_start();
        odi_store_relaxed(&litmus.y, 1);
        odi_fence_heavy(none);
        uint32_t heavy_saw = odi_load_relaxed(&litmus.x);
        for (int spins = 0; atomic_load(&litmus.done) < round; spins++) {
            if (spins > 1000)
                sched_yield();
        }
        neither += heavy_saw == 0 && litmus.light_saw == 0;
    }
    atomic_store(&litmus.round, NO_MORE_ROUNDS);
    pthread_join(light, NULL);
    return neither;
}

TEST(a_light_and_a_heavy_fence_never_miss_each_other) { assert_int_equal(store_buffering(), 0); }

static void fence_without_the_kernel(void *unused)
{
    odi_membarrier_refused = true;
    child_expects(store_buffering() == 0);
}

TEST(where_membarrier_is_refused_both_fences_are_full) { assert_child_succeeds(fence_without_the_kernel, NULL); }

/* ---- where threads and pages are ---- */

static void *measure_own_stack(void *raw)
{
    size_t *bytes = raw;

    return odi_thread_stack_in_use(bytes);
}

TEST(the_stack_in_use_is_above_its_end_and_below_the_frame)
{
    enum { SIZE = 1 << 20 };
    pthread_attr_t attributes;
    pthread_t thread;
    size_t bytes = 0;
    void *frame = NULL;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SIZE);
    assert_int_equal(pthread_create(&thread, &attributes, measure_own_stack, &bytes), 0);
    pthread_join(thread, &frame);
    pthread_attr_destroy(&attributes);
    assert_non_null(frame);
    assert_in_range(bytes, 1, SIZE);
}

TEST(a_mask_that_is_set_is_no_error_whatever_failed_before)
{
    odi_cpu_mask here;

    assert_int_equal(odi_affinity_get(0, &here), 0);
    errno = EINVAL;
    assert_int_equal(odi_affinity_set(&here), 0);
}

/* So many at once as its arrays have room for: a sanitizer sees one more. */
TEST(of_a_long_stack_the_first_pages_move)
{
    enum { PAGES = 70 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = aligned_alloc(page, PAGES * page);

    assert_non_null(pages);
    memset(pages, 7, PAGES * page);
    odi_numa_move(pages, PAGES * page, 0);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(pages[i * page], 7);
    free(pages);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
