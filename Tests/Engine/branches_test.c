/* branches_test.c — fork and join (include/od_fork.h): answers, depth, who may run what, and whose work a
 * branch is. */
#include <signal.h>

#include "Support/branches.h"
#include "Support/process.h"

CHILDREN_MAY_START_THREADS

/* ---- answers ---- */

TEST(external_threads_and_workers_get_the_right_answer)
{
    for (int workers = 1; workers <= 16; workers *= 2) {
        od_pool *pool = pool_of(workers);
        od_fork_scope scope;
        fib_frame frame = {FIB_N, 0};

        for (int round = 0; round < 20; round++) {
            od_forks_enter(pool, &scope);
            assert_int_equal(fib(FIB_N), FIB);
            od_forks_leave(&scope);
        }
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "fib");
        od_queue_async(queue, NULL, OD_QUEUE_BAND, fib_branch, &frame);
        end_queue(queue);
        assert_int_equal(frame.result, FIB);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
}

static void *be_an_external(void *raw)
{
    od_fork_scope scope;
    long right = 0;

    for (int round = 0; round < 10; round++) {
        od_forks_enter(raw, &scope);
        right += fib(FIB_N - 4) == (FIB == 196418 ? 28657 : 987);
        od_forks_leave(&scope);
    }
    return (void *)right;
}

TEST(many_external_threads_share_a_pool)
{
    od_pool *pool = pool_of(2);
    pthread_t externals[8];
    void *right;

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&externals[i], NULL, be_an_external, pool), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(externals[i], &right);
        assert_int_equal((long)right, 10);
    }
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- what is counted ---- */

typedef struct {
    fib_frame frame;
    pthread_t owner;
} watched_fork;

static atomic_ullong moved;

static void watched_branch(void *raw);

static long watched_fib(long n)
{
    if (n < 2)
        return n;
    watched_fork right = {{n - 2, 0}, pthread_self()};
    od_fork_slot *branch = od_fork(watched_branch, &right);
    long left = watched_fib(n - 1);
    od_join(branch, watched_branch, &right);
    return left + right.frame.result;
}

static void watched_branch(void *raw)
{
    watched_fork *mine = raw;

    if (!pthread_equal(mine->owner, pthread_self()))
        atomic_fetch_add(&moved, 1);
    mine->frame.result = watched_fib(mine->frame.n);
}

static void *be_a_watched_external(void *pool)
{
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    long result = watched_fib(FIB_N - 4);
    od_forks_leave(&scope);
    return (void *)result;
}

/* Whoever ran it: a worker that was idle, a joiner that waited, an external thread. */
TEST(a_fork_that_ran_elsewhere_is_counted_once)
{
    od_pool *pool = pool_of(4);
    od_fork_scope scope;

    assert_comes_true(({
        pthread_t other;
        void *result;

        assert_int_equal(pthread_create(&other, NULL, be_a_watched_external, pool), 0);
        od_forks_enter(pool, &scope);
        assert_int_equal(watched_fib(FIB_N), FIB);
        od_forks_leave(&scope);
        pthread_join(other, &result);
        atomic_load(&moved) > 100;
    }));
    assert_int_equal(metrics_of(pool).forks_stolen, atomic_load(&moved));
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- a joiner runs no stranger's job ---- */

static struct {
    od_pool *pool;
    pthread_mutex_t lock;
    _Atomic(pthread_t) holder;
    atomic_bool holds;
    atomic_int strangers, on_the_holder;
} locked;

/* A stranger that the holder ran would wait for the lock that it holds. */
static void stranger(void *unused)
{
    if (atomic_load(&locked.holds) && pthread_equal(atomic_load(&locked.holder), pthread_self()))
        atomic_fetch_add(&locked.on_the_holder, 1);
    else {
        pthread_mutex_lock(&locked.lock);
        pthread_mutex_unlock(&locked.lock);
    }
    atomic_fetch_add(&locked.strangers, 1);
}

static void spawning_branch(void *unused)
{
    submit_many(locked.pool, 4, stranger, NULL);
    odi_clock_sleep(20 * ODI_MICROSECOND); /* long enough to be waited for */
}

static void hold_and_join(void *unused)
{
    pthread_mutex_lock(&locked.lock);
    atomic_store(&locked.holder, pthread_self());
    atomic_store(&locked.holds, true);
    od_fork_slot *branch = od_fork(spawning_branch, NULL);
    spawning_branch(NULL);
    od_join(branch, spawning_branch, NULL);
    atomic_store(&locked.holds, false);
    pthread_mutex_unlock(&locked.lock);
}

/* The shape of a deadlock that a pool which runs anything while it waits has (rayon #592). */
TEST(a_joiner_that_holds_a_lock_runs_no_stranger)
{
    od_pool *pool = pool_of(3);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "holders");
    enum { TIMES = UNLESS_SANITIZED(500, 100) };

    pthread_mutex_init(&locked.lock, NULL);
    locked.pool = pool;
    add_many(queue, TIMES, hold_and_join, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(atomic_load(&locked.strangers) == TIMES * 8);
    assert_int_equal(atomic_load(&locked.on_the_holder), 0);
    end_pool(pool, queue);
}

/* ---- a joiner that sleeps ---- */

static struct {
    od_pool *pool;
    pthread_t joiner;
    atomic_bool stolen, taken;
} sleepy;

static bool a_worker_blocks(void)
{
    odi_worker *worker;

    for (int slot = 0; (worker = odi_team_next_worker(&sleepy.pool->team, &slot)) != NULL;)
        if (odi_load_relaxed(&worker->says_blocking)) /* relaxed: asked again and again */
            return true;
    return false;
}

static void note_the_joiner(void *unused)
{
    if (pthread_equal(pthread_self(), sleepy.joiner))
        atomic_store(&sleepy.taken, true);
}

static void fork_when_the_joiner_sleeps(void *unused)
{
    if (pthread_equal(pthread_self(), sleepy.joiner))
        return; /* nobody took it */
    atomic_store(&sleepy.stolen, true);
    (void)COMES_TRUE(a_worker_blocks());
    (void)COMES_TRUE(({
        od_fork_slot *branch = od_fork(note_the_joiner, NULL);
        odi_clock_sleep(ODI_MILLISECOND);
        od_join(branch, note_the_joiner, NULL);
        atomic_load(&sleepy.taken);
    }));
}

static void join_asleep(void *unused)
{
    sleepy.joiner = pthread_self();
    od_fork_slot *branch = od_fork(fork_when_the_joiner_sleeps, NULL);
    odi_clock_sleep(ODI_MILLISECOND);
    od_join(branch, fork_when_the_joiner_sleeps, NULL);
}

/* Without spares nobody else comes: a tree that forked late ran on one of two workers. */
TEST(a_joiner_that_sleeps_takes_what_its_thief_forks_later)
{
    sleepy.pool = pool_without_spares(2);
    atomic_store(&sleepy.stolen, false);
    atomic_store(&sleepy.taken, false);
    assert_comes_true(({
        od_group *group = od_group_create();
        od_queue *queue = od_queue_create(sleepy.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "joiner");
        od_queue_async(queue, group, OD_QUEUE_BAND, join_asleep, NULL);
        assert_true(od_group_wait(group, HANG_NS));
        od_queue_release(queue);
        od_group_release(group);
        atomic_load(&sleepy.stolen);
    }));
    assert_true(atomic_load(&sleepy.taken));
    assert_int_equal(od_pool_free(sleepy.pool), OD_OK);
}

/* ---- depth ---- */

enum { DEEP = UNLESS_SANITIZED(17844, 3000) };

static void count_branch(void *counter) { atomic_fetch_add((atomic_int *)counter, 1); }

static int deep(int level, atomic_int *counter)
{
    if (level == 0)
        return 0;
    od_fork_slot *branch = od_fork(count_branch, counter);
    int below = deep(level - 1, counter);
    od_join(branch, count_branch, counter);
    return below + 1;
}

static void go_deep(void *counter) { (void)deep(DEEP, counter); }

TEST(forks_nest_as_deep_as_the_stack)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "deep");
    atomic_int counter = 0;

    for (int round = 1; round <= 5; round++) {
        run_in(queue, go_deep, &counter);
        assert_int_equal(atomic_load(&counter), round * DEEP);
    }
    end_pool(pool, queue);
}

static int without_end(volatile int level)
{
    volatile char frame[512];
    frame[0] = (char)level;
    if (level < 0)
        return 0; /* never */
    return without_end(level + 1) + frame[0];
}

static void recurse_without_end(void *unused) { (void)without_end(0); }

static void use_up_a_stack(void *unused)
{
    od_pool *pool = pool_with((od_pool_options){.workers = 1, .stack_bytes = 1 << 20,
                                                .spare_workers = -1}, (odi_pool_world){0});

    od_pool_submit(pool, OD_BAND_DEFAULT, recurse_without_end, NULL);
    odi_clock_sleep(HANG_NS);
}

static void assert_child_overflows(void (*body)(void *unused), const char *part)
{
    outcome it = in_a_child(body, NULL, 30);

    if (!SANITIZED) { /* sanitizers report faults themselves */
        assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
        assert_non_null(strstr(it.said, part));
    }
    assert_int_not_equal(it.status, 0);
}

/* First, and the next: the handler is installed once, and cmocka installs its own for each test. */
TEST_FIRST(a_stack_that_is_used_up_says_so, NULL, NULL)
{
    assert_child_overflows(use_up_a_stack, "stack is used up");
}

static void fork_without_end(void *unused)
{
    for (;;)
        (void)od_fork(no_job, NULL);
}

static void use_up_the_slots(void *unused)
{
    signal(SIGSEGV, SIG_DFL); /* not cmocka's */
    od_pool *pool = pool_with((od_pool_options){.workers = 1, .stack_bytes = 1 << 20,
                                                .spare_workers = -1}, (odi_pool_world){0});

    od_pool_submit(pool, OD_BAND_DEFAULT, fork_without_end, NULL);
    odi_clock_sleep(HANG_NS);
}

TEST_FIRST(a_stack_of_forks_that_is_used_up_says_so, NULL, NULL)
{
    assert_child_overflows(use_up_the_slots, "too many open forks");
}

static void fork_half_of_the_slots_and_one_more(void *raw)
{
    enum { HALF = (1 << 20) / sizeof(od_fork_slot) / 2 };
    od_fork_slot *first = od_fork(no_job, NULL);
    bool *crowded = raw;

    for (int i = 1; i < HALF; i++)
        (void)od_fork(no_job, NULL);
    crowded[0] = od_fork_is_crowded();
    (void)od_fork(no_job, NULL);
    crowded[1] = od_fork_is_crowded();
    for (int i = HALF; i >= 0; i--)
        od_join(first + i, no_job, NULL);
}

TEST(a_stack_of_forks_is_crowded_from_its_half_on)
{
    od_pool *pool = pool_with((od_pool_options){.workers = 1, .stack_bytes = 1 << 20}, (odi_pool_world){0});
    bool crowded[] = {true, false};

    od_pool_submit(pool, OD_BAND_DEFAULT, fork_half_of_the_slots_and_one_more, crowded);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_false(crowded[0]);
    assert_true(crowded[1]);
}

/* ---- what branches inherit ---- */

static atomic_int inherited, elsewhere, bare;
static pthread_t owner_thread;

static void look_for_no_work(void *unused) { atomic_fetch_add(&bare, od_thread_work() == unused); }

static void look_at_work(void *word)
{
    atomic_fetch_add(&inherited, od_thread_work() == word);
    atomic_fetch_add(&elsewhere, !pthread_equal(owner_thread, pthread_self()));
}

TEST(a_stolen_branch_works_for_its_owners_work)
{
    od_pool *pool = pool_of(2);
    od_fork_scope scope;
    int word, rounds = 0;

    owner_thread = pthread_self();
    od_thread_set_work(&word);
    assert_ptr_equal(od_fork_root_work(), &word); /* this program defines none */
    while (atomic_load(&elsewhere) == 0 && ++rounds < 100000) {
        od_forks_enter(pool, &scope);
        od_fork_slot *branch = od_fork(look_at_work, &word);
        for (int i = 0; i < 2000; i++)
            odi_spin_pause();
        odi_thread_yield(); /* there may be one CPU */
        od_join(branch, look_at_work, &word);
        od_forks_leave(&scope);
    }
    od_thread_set_work(NULL);
    assert_true(atomic_load(&elsewhere) > 0);
    assert_int_equal(atomic_load(&inherited), rounds);
    submit_many(pool, 20, look_for_no_work, NULL);
    assert_comes_true(all_done(pool) == 20);
    assert_int_equal(atomic_load(&bare), 20); /* the thief's own is what it was */
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static atomic_int nested_inherited, nested_elsewhere;

static void look_at_inner_work(void *word)
{
    atomic_fetch_add(&nested_inherited, od_thread_work() == word);
    atomic_fetch_add(&nested_elsewhere, !pthread_equal(owner_thread, pthread_self()));
}

/* Work that the owner begins above its root: once a thief took what was forked there for the root's. */
TEST(a_stolen_branch_inherits_what_began_above_the_root)
{
    od_pool *pool = pool_of(2);
    od_fork_scope scope;
    int outer_word, inner_word, rounds = 0;

    owner_thread = pthread_self();
    atomic_store(&inherited, 0);
    od_thread_set_work(&outer_word);
    while (atomic_load(&nested_elsewhere) == 0 && ++rounds < 100000) {
        od_forks_enter(pool, &scope);
        od_fork_slot *root = od_fork(look_at_work, &outer_word);
        void *outer = od_work_enter(&inner_word);
        od_work_leave(od_work_enter(&inner_word)); /* it leaves its own note, not that one */
        od_fork_slot *branch = od_fork(look_at_inner_work, &inner_word);
        od_work_leave(od_work_enter(&rounds));
        od_work_leave(od_work_enter(&inner_word)); /* that is noted below, and stays so */
        assert_int_equal(odi_load_relaxed(&((odi_forks *)od_forks_self)->note_count), 1);
        for (int i = 0; i < 2000; i++)
            odi_spin_pause();
        odi_thread_yield(); /* there may be one CPU */
        od_join(branch, look_at_inner_work, &inner_word);
        od_work_leave(outer);
        assert_ptr_equal(od_thread_work(), &outer_word);
        od_join(root, look_at_work, &outer_word);
        od_forks_leave(&scope);
    }
    od_thread_set_work(NULL);
    assert_true(atomic_load(&nested_elsewhere) > 0);
    assert_int_equal(atomic_load(&inherited), rounds);
    assert_int_equal(atomic_load(&nested_inherited), rounds);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* More of them than were noted once (32): a thief took what was forked above the last for the 32nd's. */
enum { NESTED = 200 };
static char nested_words[NESTED];

static void nest_work(int level)
{
    if (level == NESTED) {
        assert_comes_true(atomic_load(&nested_elsewhere) == NESTED);
        return;
    }
    void *outer = od_work_enter(&nested_words[level]);
    od_fork_slot *branch = od_fork(look_at_inner_work, &nested_words[level]);

    nest_work(level + 1);
    od_join(branch, look_at_inner_work, &nested_words[level]);
    od_work_leave(outer);
}

static struct {
    pthread_t joiner;
    atomic_bool begun, ran;
    char word;
} lent;

static void run_by_the_joiner(void *unused)
{
    atomic_store(&lent.ran, pthread_equal(lent.joiner, pthread_self()) && od_thread_work() == &lent.word);
}

static void lend_a_branch(void *unused)
{
    void *outer = od_work_enter(&lent.word);
    od_fork_slot *branch = od_fork(run_by_the_joiner, NULL);

    atomic_store(&lent.begun, true);
    (void)COMES_TRUE(atomic_load(&lent.ran)); /* the only worker is here */
    od_join(branch, run_by_the_joiner, NULL);
    od_work_leave(outer);
}

/* Whose branches would be taken for the other's work from then on. */
TEST(who_waits_and_runs_anothers_branch_has_its_own_work_again)
{
    od_pool *pool = pool_without_spares(2); /* it counts as one of them */
    od_fork_scope scope;

    memset(&lent, 0, sizeof lent);
    lent.joiner = pthread_self();
    od_forks_enter(pool, &scope);
    od_fork_slot *root = od_fork(no_job, NULL), *branch = od_fork(lend_a_branch, NULL);
    assert_comes_true(atomic_load(&lent.begun));
    od_join(branch, lend_a_branch, NULL);
    assert_true(atomic_load(&lent.ran));
    assert_null(od_thread_work());
    assert_int_equal(odi_load_relaxed(&((odi_forks *)od_forks_self)->note_count), 0);
    od_join(root, no_job, NULL);
    od_forks_leave(&scope);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* Beyond that many notes what is entered is none's to inherit, and leaves those of others alone. */
TEST(no_more_work_is_noted_than_there_are_notes)
{
    enum { ENTERED = ODI_FORKS_NOTES + 10 };
    static char words[ENTERED];
    static void *outers[ENTERED];
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_fork_slot *root = od_fork(no_job, NULL);
    odi_forks *here = (odi_forks *)od_forks_self;
    for (int each = 0; each < ENTERED; each++)
        outers[each] = od_work_enter(&words[each]);
    assert_int_equal(odi_load_relaxed(&here->note_count), ODI_FORKS_NOTES);
    for (int each = ENTERED; each-- > 0;)
        od_work_leave(outers[each]);
    assert_int_equal(odi_load_relaxed(&here->note_count), 0);
    od_join(root, no_job, NULL);
    od_forks_leave(&scope);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

TEST(a_stolen_branch_inherits_work_however_deep_it_is_nested)
{
    od_pool *pool = pool_of(2);
    od_fork_scope scope;

    owner_thread = pthread_self();
    atomic_store(&nested_inherited, 0);
    atomic_store(&nested_elsewhere, 0);
    od_forks_enter(pool, &scope);
    od_fork_slot *root = od_fork(no_job, NULL);
    nest_work(0);
    od_join(root, no_job, NULL);
    od_forks_leave(&scope);
    assert_int_equal(atomic_load(&nested_inherited), NESTED);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- without membarrier ---- */

static void without_membarrier(void *unused)
{
    odi_membarrier_refused = true;
    od_pool *pool = pool_of(3);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    for (int round = 0; round < 20; round++)
        child_expects(fib(FIB_N - 4) == (FIB == 196418 ? 28657 : 987));
    od_forks_leave(&scope);
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(forks_need_no_membarrier) { assert_int_equal(in_a_child(without_membarrier, NULL, 60).status, 0); }

static void ask_whether_wanted(void *unused)
{
    odi_membarrier_refused = true;
    od_pool *pool = pool_of(1); /* the external thread counts as its worker: nobody asks */
    od_fork_scope scope;
    atomic_ullong ran = 0;
    int wanted = 0;

    od_forks_enter(pool, &scope);
    od_fork_slot *root = od_fork(count_job, &ran), *branch = od_fork(count_job, &ran);
    for (int look = 0; look < 200; look++, odi_clock_sleep(50 * ODI_MICROSECOND))
        wanted += od_fork_wanted();
    od_join(branch, count_job, &ran);
    od_join(root, count_job, &ran);
    od_forks_leave(&scope);
    child_expects(wanted == 0);
    child_expects(atomic_load(&ran) == 2);
    child_expects(od_pool_free(pool) == OD_OK);
}

TEST(without_membarrier_loops_are_divided_only_where_somebody_asks)
{
    assert_int_equal(in_a_child(ask_whether_wanted, NULL, 60).status, 0);
}

TEST_PROGRAM
