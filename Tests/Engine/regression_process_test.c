/* What the engine did to the process around it once: a fork in the midst of the first pool's creation left a
 * child that waited for ever, and signals that were sent were lost. */
#include "Support/pools.h"
#include "Support/process.h"
#include "Support/watchdog.h"

#include <signal.h>
#include <sys/mman.h>

static void begin_a_worker(void)
{
    od_pool *pool = pool_of(1);
    atomic_ullong ran = 0;

    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    child_expects(COMES_TRUE(atomic_load(&ran) == 1));
}

static void send_a_fault(void *unused)
{
    signal(SIGSEGV, SIG_DFL); /* not cmocka's */
    begin_a_worker();
    raise(SIGSEGV);
}

TEST(a_fault_that_is_sent_ends_the_process)
{
    outcome it = in_a_child(send_a_fault, NULL, 30);

    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
}

static void send_an_ignored_fault(void *unused)
{
    struct sigaction now;

    signal(SIGSEGV, SIG_IGN);
    begin_a_worker();
    raise(SIGSEGV);
    raise(SIGSEGV);
    child_expects(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler != SIG_IGN); /* stacks are watched still */
}

TEST(a_fault_that_is_sent_and_ignored_is_ignored) { assert_child_succeeds(send_an_ignored_fault, NULL); }

static void say_that_it_came(int signal) { dprintf(STDERR_FILENO, "came\n"); }

static void fault_with_a_handler_for_one(void *unused)
{
    struct sigaction once = {.sa_handler = say_that_it_came, .sa_flags = (int)SA_RESETHAND};
    volatile int *volatile nowhere = NULL;

    sigaction(SIGSEGV, &once, NULL);
    begin_a_worker();
    *nowhere = 1;
}

/* It returns, so that the access is tried again and ends the process. */
TEST(a_handler_for_one_fault_is_called_once)
{
    if (UNDER_ASAN)
        skip(); /* UBSan reports the access itself */
    outcome it = in_a_child(fault_with_a_handler_for_one, NULL, 30);

    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
    assert_int_equal(strncmp(it.said, "came\n", 5), 0);
    assert_null(strstr(it.said + 5, "came")); /* an emulator says something of the end itself */
}

static void say_where(int signal, siginfo_t *info, void *machine)
{
    dprintf(STDERR_FILENO, "at %d\n", (int)(uintptr_t)info->si_addr);
    _exit(machine == NULL);
}

static void fault_with_a_handler_that_is_told(void *unused)
{
    struct sigaction told = {.sa_sigaction = say_where, .sa_flags = SA_SIGINFO};
    volatile char *volatile nowhere = (char *)1234;

    sigaction(SIGSEGV, &told, NULL);
    begin_a_worker();
    *nowhere = 1;
}

TEST(a_handler_that_asks_for_it_is_told_where_the_fault_was)
{
    if (UNDER_ASAN)
        skip(); /* as above */
    outcome it = in_a_child(fault_with_a_handler_that_is_told, NULL, 30);

    assert_int_equal(it.status, 0);
    assert_string_equal(it.said, "at 1234\n");
}

static char *page;
static volatile int faults;

static void open_the_page(int signal, siginfo_t *info, void *machine)
{
    faults++;
    (void)mprotect(page, 1, info->si_addr == page ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void fault_with_a_handler_that_mends(void *unused)
{
    struct sigaction mends = {.sa_sigaction = open_the_page, .sa_flags = SA_SIGINFO};

    page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &mends, NULL);
    begin_a_worker();
    for (int time = 1; time <= 3; time++) {
        *(volatile char *)page = 1;
        child_expects(faults == time && mprotect(page, 1, PROT_NONE) == 0);
    }
    struct sigaction now;
    child_expects(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != open_the_page); /* stacks are watched still */
}

/* A runtime's, for instance, that finds out so what has been written. */
TEST(a_handler_that_mends_what_was_wrong_is_called_each_time)
{
    assert_child_succeeds(fault_with_a_handler_that_mends, NULL);
}

static void write_below_the_stack(void *unused)
{
    volatile char *volatile nowhere = (char *)1234;

    *nowhere = 1;
}

static void fault_in_a_job(void *unused)
{
    signal(SIGSEGV, SIG_DFL);
    od_pool_submit(pool_of(1), OD_BAND_DEFAULT, write_below_the_stack, NULL);
    pause();
}

TEST(a_fault_elsewhere_is_not_said_to_be_the_stacks)
{
    if (UNDER_ASAN)
        skip(); /* as above */
    outcome it = in_a_child(fault_in_a_job, NULL, 30);

    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
    assert_null(strstr(it.said, "stack is used up"));
}

/* ---- last: from here on this process has threads, and the handler of SIGSEGV that a child would have before its own ---- */

static _Thread_local bool stops_at_allocation;
static gate at_allocation;

/* A sanitizer's allocator is its own. */
#if !UNDER_TSAN && !UNDER_ASAN

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
    if (stops_at_allocation) {
        stops_at_allocation = false;
        gate_pass(&at_allocation);
    }
    return __libc_malloc(size);
}

#endif

static void *make_the_default_pool(void *unused)
{
    stops_at_allocation = true;
    (void)od_default_pool();
    stops_at_allocation = false;
    return unused;
}

static void use_the_default_pool(void *unused)
{
    od_pool *mine = od_default_pool();
    atomic_ullong ran = 0;

    child_expects(mine != NULL);
    od_pool_submit(mine, OD_BAND_DEFAULT, count_job, &ran);
    child_expects(COMES_TRUE(atomic_load(&ran) == 1));
}

static void set_no_number(void *unused)
{
    setenv("OVERDRIVE_WORKERS", "many", 1);
    child_expects(od_default_pool() != NULL);
}

TEST(who_sets_no_number_of_workers_is_told_and_has_the_default_pool_all_the_same)
{
    outcome it = in_a_child(set_no_number, NULL, 30);

    assert_int_equal(it.status, 0);
    assert_non_null(strstr(it.said, "OVERDRIVE_WORKERS: invalid value (\"many\")"));
}

TEST_UNSANITIZED(a_child_forked_while_the_default_pool_is_made_has_its_own, NULL, NULL)
{
    pthread_t maker;

    assert_int_equal(pthread_create(&maker, NULL, make_the_default_pool, NULL), 0);
    assert_comes_true(atomic_load(&at_allocation.waiting) == 1);
    assert_child_succeeds(use_the_default_pool, NULL);
    gate_open(&at_allocation);
    pthread_join(maker, NULL);
    use_the_default_pool(NULL);
}

CHILDREN_MAY_START_THREADS
GUARDED_PROGRAM
