/* The signal that OVERDRIVE_SIGNAL names: what it calls, what it leaves alone, and what a forked child gets. */
#include <signal.h>
#include <stdatomic.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "include/od_report.h"
#include "observe/dump_signal.h"

CHILDREN_MAY_START_THREADS

static atomic_int dumps, earlier_calls;

static void note_dump(void)
{
    atomic_fetch_add(&dumps, 1);
}

static void earlier(int number)
{
    (void)number;
    atomic_fetch_add(&earlier_calls, 1);
}

static void handle_by(void (*handler)(int))
{
    child_expects(signal(SIGUSR1, handler) != SIG_ERR);
}

static bool becomes(atomic_int *count, int wanted)
{
    for (int round = 0; round < 5000 && atomic_load(count) < wanted; round++)
        usleep(1000);
    return atomic_load(count) == wanted;
}

static void has_no_handler(void *unused)
{
    struct sigaction now;
    od_pool *pool = pool_of(1);

    (void)unused;
    child_expects(!od_dump_signal_to(note_dump));
    for (int number = 1; number < 32; number++) {
        if (number != SIGKILL && number != SIGSTOP && sigaction(number, NULL, &now) == 0)
            child_expects((now.sa_flags & SA_SIGINFO) == 0 || UNDER_TSAN || UNDER_ASAN);
    }
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(no_signal_is_handled_without_the_variable)
{
    unsetenv("OVERDRIVE_SIGNAL");
    assert_child_succeeds(has_no_handler, NULL);
}

static void dumps_and_calls_the_earlier_one(void *unused)
{
    struct sigaction now;

    (void)unused;
    handle_by(earlier);
    od_pool *pool = pool_of(1);
    child_expects(od_dump_signal_to(note_dump));
    child_expects(UNDER_TSAN || (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_flags & SA_ONSTACK && now.sa_flags & SA_RESTART)); /* TSan shows its own */
    for (int round = 1; round <= 3; round++) {
        child_expects(raise(SIGUSR1) == 0);
        child_expects(becomes(&dumps, round) && becomes(&earlier_calls, round));
    }
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(the_named_signal_asks_for_a_dump_and_keeps_the_earlier_handler)
{
    setenv("OVERDRIVE_SIGNAL", "USR1", 1);
    assert_child_succeeds(dumps_and_calls_the_earlier_one, NULL);
    setenv("OVERDRIVE_SIGNAL", "SIGUSR1", 1);
    assert_child_succeeds(dumps_and_calls_the_earlier_one, NULL);
    unsetenv("OVERDRIVE_SIGNAL");
}

static void dumps_although_it_is_blocked(void *unused)
{
    sigset_t all;

    (void)unused;
    sigfillset(&all);
    child_expects(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    od_pool *pool = pool_of(1);
    child_expects(od_dump_signal_to(note_dump));
    child_expects(kill(getpid(), SIGUSR1) == 0);
    child_expects(becomes(&dumps, 1) || UNDER_TSAN); /* which delivers signals to threads in its own calls only */
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(a_signal_that_all_threads_block_asks_for_a_dump)
{
    setenv("OVERDRIVE_SIGNAL", "USR1", 1);
    assert_child_succeeds(dumps_although_it_is_blocked, NULL);
    unsetenv("OVERDRIVE_SIGNAL");
}

static void gets_the_earlier_one(void *unused)
{
    (void)unused;
    child_expects(!od_dump_signal_to(note_dump));
    child_expects(raise(SIGUSR1) == 0);
    child_expects(atomic_load(&earlier_calls) == 1 && atomic_load(&dumps) == 0);
}

static void forks(void *unused)
{
    (void)unused;
    handle_by(earlier);
    od_pool *pool = pool_of(1);
    child_expects(od_dump_signal_to(note_dump));
    pid_t child = fork();
    if (child == 0) {
        gets_the_earlier_one(NULL);
        _exit(0);
    }
    int status = -1;
    child_expects(waitpid(child, &status, 0) == child && status == 0);
    child_expects(raise(SIGUSR1) == 0);
    child_expects(becomes(&dumps, 1));
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(a_forked_child_has_the_earlier_handler_alone)
{
    setenv("OVERDRIVE_SIGNAL", "USR1", 1);
    assert_child_succeeds(forks, NULL);
    unsetenv("OVERDRIVE_SIGNAL");
}

TEST(a_name_that_is_no_signal_is_refused_in_one_sentence)
{
    static const char *const names[] = {"", "SIG", "KILL", "SEGV", "usr1", "USR3", "10"};
    char message[256], wanted[256];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_false(odi_dump_signal_start(names[i], message, sizeof message));
        snprintf(wanted, sizeof wanted, "unknown signal (%s). Name USR1, USR2, QUIT, HUP, URG or WINCH.", names[i]);
        assert_string_equal(message, wanted);
    }
}

TEST_PROGRAM
