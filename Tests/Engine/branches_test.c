/* branches_test.c — fork and join (include/od_fork.h): answers, who may run what, and that no
 * thief starves while an owner is busy below its forks. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "Support/pools.h"
#include "Support/process.h"
#include "os/thread.h"
#include "worker/forks.h"

CHILDREN_MAY_START_THREADS

/* Never asleep; and not for ever alone on its CPU, where the scheduling policy is a real-time one:
 * whoever sets `told` may wait for that CPU. */
static void compute_until(atomic_int *told)
{
    while (!atomic_load(told))
        odi_thread_yield();
}

/* ---- a tree of forks with a known answer ---- */

typedef struct {
    long n, result;
} fib_frame;

static void fib_branch(void *raw);

static long fib(long n)
{
    if (n < 2)
        return n;
    fib_frame right = {n - 2, 0};
    od_fork_slot *branch = od_fork(fib_branch, &right);
    long left = fib(n - 1);
    od_join(branch, fib_branch, &right);
    return left + right.result;
}

static void fib_branch(void *raw)
{
    fib_frame *frame = raw;

    frame->result = fib(frame->n);
}

enum { FIB_N = UNLESS_SANITIZED(27, 20), FIB = UNLESS_SANITIZED(196418, 6765) };

static void guests_and_workers_get_the_right_answer(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 16; workers *= 2) {
        od_pool *pool = pool_of(workers);
        od_fork_stay stay;
        fib_frame frame = {FIB_N, 0};

        for (int round = 0; round < 20; round++) {
            od_forks_enter(pool, &stay);
            assert_int_equal(fib(FIB_N), FIB);
            od_forks_leave(&stay);
        }
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "fib");
        od_queue_async(queue, NULL, OD_QUEUE_BAND, fib_branch, &frame);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(frame.result, FIB);
        od_queue_release(queue);
        assert_int_equal(od_pool_free(pool), OD_OK);
    }
}

static void *be_a_guest(void *raw)
{
    od_fork_stay stay;
    long right = 0;

    for (int round = 0; round < 10; round++) {
        od_forks_enter(raw, &stay);
        right += fib(FIB_N - 4) == (FIB == 196418 ? 28657 : 987);
        od_forks_leave(&stay);
    }
    return (void *)right;
}

static void many_guests_share_a_pool(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    pthread_t guests[8];
    void *right;

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&guests[i], NULL, be_a_guest, pool), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(guests[i], &right);
        assert_int_equal((long)right, 10);
    }
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void a_thread_that_forks_becomes_a_guest_of_the_default_pool(void **state)
{
    (void)state;
    assert_null(od_forks_self);
    assert_int_equal(fib(FIB_N), FIB);
    assert_null(od_forks_self); /* it has left */
}

/* A guest that came by forking runs the root's branch itself, and forks in it: it stays until the
 * root is joined, and gives its place up once. */
static struct {
    pthread_t guest;
    int here, left;
} own_root;

static void fork_in_the_branch(void *unused)
{
    if (!pthread_equal(own_root.guest, pthread_self()))
        return;
    od_forks *before = od_forks_self;
    for (int i = 0; i < 2; i++) {
        od_fork_slot *branch = od_fork(no_job, unused);
        od_join(branch, no_job, unused);
    }
    own_root.here++;
    own_root.left += od_forks_self != before;
}

static void a_guest_stays_while_it_runs_its_own_roots_branch(void **state)
{
    (void)state;
    memset(&own_root, 0, sizeof own_root);
    own_root.guest = pthread_self();
    for (int round = 0; round < 100000 && own_root.here < 100; round++) {
        od_fork_slot *root = od_fork(fork_in_the_branch, NULL);
        od_join(root, fork_in_the_branch, NULL);
        assert_null(od_forks_self);
    }
    assert_int_equal(own_root.here, 100);
    assert_int_equal(own_root.left, 0);
}

/* ---- no thief starves ---- */

enum { ABOVE = 10 };

static struct {
    od_pool *pool;
    atomic_int started;
    _Atomic(int64_t) began[ABOVE];
    int64_t leaf_began;
    int pipe[2];
    bool reads;
} above;

static void note_start(void *raw)
{
    atomic_store(&above.began[(intptr_t)raw], odi_clock_now());
    atomic_fetch_add(&above.started, 1);
}

/* The leaf ends when all forks above it have started, or after a hang's time. */
static void leaf(void)
{
    char byte;

    above.leaf_began = odi_clock_now();
    if (above.reads)
        (void)!read(above.pipe[0], &byte, 1);
    else
        (void)COMES_TRUE(atomic_load(&above.started) == ABOVE);
}

static void fork_above(intptr_t level)
{
    if (level == ABOVE) {
        leaf();
        return;
    }
    od_fork_slot *branch = od_fork(note_start, (void *)level);
    fork_above(level + 1);
    od_join(branch, note_start, (void *)level);
}

static void fork_all_above(void *unused)
{
    (void)unused;
    fork_above(0);
}

static void check_above(bool reads)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "above");

    memset(&above, 0, sizeof above);
    above.reads = reads;
    if (reads)
        assert_int_equal(pipe(above.pipe), 0);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_all_above, NULL);
    bool all = COMES_TRUE(atomic_load(&above.started) == ABOVE);
    if (reads)
        assert_int_equal(write(above.pipe[1], "x", 1), 1);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_true(all); /* by the other worker: the owner was in the leaf */
    int64_t last = 0;
    for (int i = 0; i < ABOVE; i++)
        last = atomic_load(&above.began[i]) > last ? atomic_load(&above.began[i]) : last;
    print_message("the last of %d started %lld us after the leaf\n", ABOVE,
                  (long long)(last - above.leaf_began) / 1000);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void forks_above_a_long_leaf_are_taken(void **state)
{
    (void)state;
    check_above(false);
}

static void forks_above_a_blocked_leaf_are_taken(void **state)
{
    (void)state;
    check_above(true);
}

/* ---- sleepers ---- */

static struct {
    atomic_int done[2];
    bool seen[2];
} later;

static void note_done(void *raw)
{
    atomic_store(&later.done[(intptr_t)raw], 1);
}

/* Both forks run elsewhere, because this one does not come back before they have. */
static void fork_now_and_later(void *unused)
{
    (void)unused;
    od_fork_slot *root = od_fork(note_done, (void *)0);
    later.seen[0] = COMES_TRUE(atomic_load(&later.done[0]));
    odi_clock_sleep(MILLISECONDS(30)); /* the thief has gone to sleep */
    od_fork_slot *second = od_fork(note_done, (void *)1);
    later.seen[1] = COMES_TRUE(atomic_load(&later.done[1]));
    od_join(second, note_done, (void *)1);
    od_join(root, note_done, (void *)0);
}

static void a_sleeper_is_woken_for_a_fork_that_comes_later(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "later");

    memset(&later, 0, sizeof later);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_now_and_later, NULL);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    assert_true(later.seen[0]);
    assert_true(later.seen[1]);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* One of two sleepers takes the root's branch and stays in it. The other is woken for what is
 * forked above from then on. */
static struct {
    atomic_int inside, awake, started;
} second;

static void stay_inside(void *unused)
{
    (void)unused;
    atomic_store(&second.inside, 1);
    later.seen[1] = COMES_TRUE(atomic_load(&second.started) == ABOVE);
}

static void note_second(void *unused)
{
    (void)unused;
    atomic_fetch_add(&second.started, 1);
}

static void fork_above_a_taken_root(void *unused)
{
    od_fork_slot *branches[ABOVE], *root = od_fork(stay_inside, unused);

    (void)COMES_TRUE(atomic_load(&second.inside));
    odi_clock_sleep(MILLISECONDS(20));
    for (int i = 0; i < ABOVE; i++)
        branches[i] = od_fork(note_second, NULL);
    later.seen[0] = COMES_TRUE(atomic_load(&second.started) == ABOVE);
    for (int i = ABOVE; i-- > 0;)
        od_join(branches[i], note_second, NULL);
    od_join(root, stay_inside, unused);
}

static void be_awake(void *unused)
{
    (void)unused;
    atomic_fetch_add(&second.awake, 1);
    (void)COMES_TRUE(atomic_load(&second.awake) == 3);
}

static void a_second_sleeper_is_woken_when_the_first_stays_in_its_branch(void **state)
{
    (void)state;
    od_pool *pool = pool_of(3);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "second");

    memset(&second, 0, sizeof second);
    memset(&later, 0, sizeof later);
    for (int i = 0; i < 3; i++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, be_awake, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    odi_clock_sleep(MILLISECONDS(20)); /* all three have gone to sleep */
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_above_a_taken_root, NULL);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    assert_true(later.seen[0]);
    assert_true(later.seen[1]); /* not by the first, once it was done */
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void note_thread(void *raw)
{
    *(pthread_t *)raw = pthread_self();
    atomic_store(&later.done[0], 1);
}

static void fork_for_another(void *raw)
{
    pthread_t thread = pthread_self();
    od_fork_slot *root = od_fork(note_thread, &thread);

    (void)COMES_TRUE(atomic_load(&later.done[0]));
    od_join(root, note_thread, &thread);
    *(bool *)raw = !pthread_equal(thread, pthread_self());
}

/* A worker's stack of the least size holds forks as well. */
static void workers_with_small_stacks_share_their_forks(void **state)
{
    (void)state;
    od_pool_options options;
    od_pool *pool;
    char message[256];

    od_pool_options_init(&options);
    options.workers = 2;
    options.stack_bytes = 256 * 1024;
    assert_int_equal(od_pool_create(&options, &pool, message, sizeof message), OD_OK);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "small");
    bool shared = false;
    memset(&later, 0, sizeof later);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_for_another, &shared);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    assert_true(shared);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- blocking ---- */

/* Until it is wanted, there are no spares. */
static atomic_bool monitor_wanted;

static void arm_if_wanted(odi_crew *crew)
{
    if (atomic_load(&monitor_wanted))
        odi_pool_arm_monitor(crew);
}

/* Both workers are in these, computing, until they are let out one by one. */
static struct {
    atomic_int here, out[2];
} held;

static void be_held(void *unused)
{
    (void)unused;
    int slot = odi_worker_self->slot;

    atomic_fetch_add(&held.here, 1);
    compute_until(&held.out[slot]);
}

/* The worker in the other slot forks, and the one in `slot` takes it. */
static void have_stolen(od_pool *pool, od_queue *queue, int slot)
{
    memset(&held, 0, sizeof held);
    memset(&later, 0, sizeof later);
    for (int i = 0; i < 2; i++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, be_held, NULL);
    assert_comes_true(atomic_load(&held.here) == 2);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fork_now_and_later, NULL);
    atomic_store(&held.out[1 - slot], 1);
    odi_worker *worker = odi_load_acquire(&pool->crew.slots[1 - slot], W1);
    assert_comes_true(odi_forks_hold_work(&worker->forks));
    atomic_store(&held.out[slot], 1);
    assert_true(od_queue_wait(queue, 3 * HANG_NS));
    worker = odi_load_acquire(&pool->crew.slots[slot], W1);
    assert_true(odi_load_acquire(&worker->forks_run, W2) > 1);
}

/* What a worker did for others' forks is not taken for progress of the job that it blocks in. */
static void a_worker_that_has_stolen_forks_is_noticed_when_it_blocks(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "blocking");
    gate door = {0};
    atomic_ullong ran = 0;
    od_metrics metrics;

    pool->crew.arm_monitor = arm_if_wanted;
    for (int slot = 0; slot < 2; slot++)
        have_stolen(pool, queue, slot);
    atomic_store(&monitor_wanted, true);
    for (int i = 0; i < 2; i++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, &door);
    assert_comes_true(atomic_load(&door.waiting) == 2);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, count_job, &ran);
    bool came = COMES_TRUE(atomic_load(&ran) == 1);
    od_pool_metrics(pool, &metrics);
    gate_open(&door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_true(came);
    assert_true(metrics.most_spares >= 1);
    od_queue_release(queue);
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
    (void)unused;
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
    (void)unused;
    for (int i = 0; i < 4; i++)
        od_pool_submit(locked.pool, OD_BAND_DEFAULT, stranger, NULL);
    odi_clock_sleep(20 * ODI_MICROSECOND); /* long enough to be waited for */
}

static void hold_and_join(void *unused)
{
    (void)unused;
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
static void a_joiner_that_holds_a_lock_runs_no_stranger(void **state)
{
    (void)state;
    od_pool *pool = pool_of(3);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "holders");
    enum { TIMES = UNLESS_SANITIZED(500, 100) };

    memset(&locked, 0, sizeof locked);
    pthread_mutex_init(&locked.lock, NULL);
    locked.pool = pool;
    for (int i = 0; i < TIMES; i++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, hold_and_join, NULL);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(atomic_load(&locked.strangers) == TIMES * 8);
    assert_int_equal(atomic_load(&locked.on_the_holder), 0);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- depth ---- */

enum { DEEP = UNLESS_SANITIZED(17844, 3000) };

static void count_branch(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

static int deep(int level, atomic_int *counter)
{
    if (level == 0)
        return 0;
    od_fork_slot *branch = od_fork(count_branch, counter);
    int below = deep(level - 1, counter);
    od_join(branch, count_branch, counter);
    return below + 1;
}

static void go_deep(void *counter)
{
    (void)deep(DEEP, counter);
}

static void forks_nest_as_deep_as_the_stack(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "deep");
    atomic_int counter = 0;

    for (int round = 1; round <= 5; round++) {
        od_queue_async(queue, NULL, OD_QUEUE_BAND, go_deep, &counter);
        assert_true(od_queue_wait(queue, HANG_NS));
        assert_int_equal(atomic_load(&counter), round * DEEP);
    }
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static int without_end(volatile int level)
{
    volatile char frame[512];
    frame[0] = (char)level;
    if (level < 0)
        return 0; /* never */
    return without_end(level + 1) + frame[0];
}

static void recurse_without_end(void *unused)
{
    (void)unused;
    (void)without_end(0);
}

static void use_up_a_stack(void *unused)
{
    (void)unused;
    od_pool *pool = pool_with((od_pool_options){.workers = 1, .stack_bytes = 1 << 20,
                                                .spare_workers = -1}, (odi_pool_world){0});

    od_pool_submit(pool, OD_BAND_DEFAULT, recurse_without_end, NULL);
    odi_clock_sleep(HANG_NS);
}

static void a_stack_that_is_used_up_says_so(void **state)
{
    (void)state;
    outcome it = in_a_child(use_up_a_stack, NULL, 30);

    if (!SANITIZED) { /* sanitizers report stack overflows themselves */
        assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
        assert_non_null(strstr(it.said, "stack is used up"));
    }
    assert_int_not_equal(it.status, 0);
}

/* ---- what branches inherit ---- */

static atomic_int inherited, elsewhere;
static pthread_t owner_thread;

static void look_at_work(void *word)
{
    atomic_fetch_add(&inherited, od_thread_work() == word);
    atomic_fetch_add(&elsewhere, !pthread_equal(owner_thread, pthread_self()));
}

static void a_stolen_branch_works_for_its_owners_work(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_fork_stay stay;
    int word, rounds = 0;

    owner_thread = pthread_self();
    od_thread_set_work(&word);
    while (atomic_load(&elsewhere) == 0 && ++rounds < 100000) {
        od_forks_enter(pool, &stay);
        od_fork_slot *branch = od_fork(look_at_work, &word);
        for (int i = 0; i < 2000; i++)
            odi_spin_pause();
        odi_thread_yield(); /* there may be one CPU */
        od_join(branch, look_at_work, &word);
        od_forks_leave(&stay);
    }
    od_thread_set_work(NULL);
    assert_true(atomic_load(&elsewhere) > 0);
    assert_int_equal(atomic_load(&inherited), rounds);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static atomic_int nested_inherited, nested_elsewhere;

static void look_at_inner_work(void *word)
{
    atomic_fetch_add(&nested_inherited, od_thread_work() == word);
    atomic_fetch_add(&nested_elsewhere, !pthread_equal(owner_thread, pthread_self()));
}

/* Work that the owner begins above its root: once a thief took what was forked there for the root's. */
static void a_stolen_branch_inherits_what_began_above_the_root(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_fork_stay stay;
    int outer_word, inner_word, rounds = 0;

    owner_thread = pthread_self();
    atomic_store(&inherited, 0);
    od_thread_set_work(&outer_word);
    while (atomic_load(&nested_elsewhere) == 0 && ++rounds < 100000) {
        od_forks_enter(pool, &stay);
        od_fork_slot *root = od_fork(look_at_work, &outer_word);
        void *outer = od_work_enter(&inner_word);
        od_fork_slot *branch = od_fork(look_at_inner_work, &inner_word);
        od_work_leave(od_work_enter(&rounds));
        for (int i = 0; i < 2000; i++)
            odi_spin_pause();
        odi_thread_yield(); /* there may be one CPU */
        od_join(branch, look_at_inner_work, &inner_word);
        od_work_leave(outer);
        assert_ptr_equal(od_thread_work(), &outer_word);
        od_join(root, look_at_work, &outer_word);
        od_forks_leave(&stay);
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

static void a_stolen_branch_inherits_work_however_deep_it_is_nested(void **state)
{
    (void)state;
    od_pool *pool = pool_of(2);
    od_fork_stay stay;

    owner_thread = pthread_self();
    atomic_store(&nested_inherited, 0);
    atomic_store(&nested_elsewhere, 0);
    od_forks_enter(pool, &stay);
    od_fork_slot *root = od_fork(no_job, NULL);
    nest_work(0);
    od_join(root, no_job, NULL);
    od_forks_leave(&stay);
    assert_int_equal(atomic_load(&nested_inherited), NESTED);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- a claim that takes long ---- */

static struct {
    odi_forks *forks;
    uintptr_t limit;
    int owner;
    atomic_bool joins, slept;
} claim;

static void *hold_the_claim(void *unused)
{
    (void)COMES_TRUE(atomic_load(&claim.joins));
    atomic_store(&claim.slept, COMES_TRUE(odi_thread_sleeps(claim.owner) == 1));
    odi_store_release(&claim.forks->owner.limit, claim.limit, F3);
    return unused;
}

/* Found by reading: it yielded again and again, and under a real-time priority a thief of a lower
 * one never came to its next instruction. */
static void an_owner_sleeps_while_a_thief_does_not_come_to_move_its_split(void **state)
{
    (void)state;
    od_pool *pool = lone_worker();
    gate door = {0};
    od_fork_stay stay;
    pthread_t thief;

    od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &door); /* nobody else asks or takes */
    assert_comes_true(atomic_load(&door.waiting) == 1);
    memset(&claim, 0, sizeof claim);
    claim.owner = odi_thread_id();
    od_forks_enter(pool, &stay);
    od_fork_slot *branch = od_fork(no_job, NULL);
    claim.forks = (odi_forks *)od_forks_self;
    claim.limit = odi_load_relaxed(&claim.forks->owner.limit); /* relaxed: its owner's, no thief's */
    odi_store_relaxed(&claim.forks->owner.limit, ODI_FORKS_CLAIMED); /* relaxed: as above */
    pthread_create(&thief, NULL, hold_the_claim, NULL);
    atomic_store(&claim.joins, true);
    od_join(branch, no_job, NULL);
    pthread_join(thief, NULL);
    od_forks_leave(&stay);
    gate_open(&door);
    assert_true(atomic_load(&claim.slept));
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- guests count as workers, while they run ---- */

static void do_nothing(odi_crew *unused)
{
    (void)unused;
}

/* A pool whose monitor makes up for nothing. */
static od_pool *pool_without_monitor(int workers)
{
    od_pool *pool = pool_of(workers);

    pool->crew.arm_monitor = do_nothing;
    return pool;
}

static struct {
    od_pool *pool;
    atomic_int here, may_go, may_fork, started, over;
} room;

/* Enters, and goes or sleeps in a join when told to: computing until then. */
static void *be_in_the_way(void *raw)
{
    bool joins = raw != NULL;
    od_fork_stay stay;

    od_forks_enter(room.pool, &stay);
    if (joins) {
        od_fork_slot *branch = od_fork(be_awake, NULL); /* two more make three */
        (void)COMES_TRUE(atomic_load(&second.awake) == 1);
        atomic_store(&room.here, 1);
        compute_until(&room.may_go);
        od_join(branch, be_awake, NULL);
    } else {
        atomic_store(&room.here, 1);
        compute_until(&room.may_go);
    }
    od_forks_leave(&stay);
    return NULL;
}

static void note_room(void *unused)
{
    (void)unused;
    atomic_fetch_add(&room.started, 1);
}

/* Another guest's fork starts once the first has made room. */
static void check_room(int workers, bool joins)
{
    pthread_t other;
    od_fork_stay stay;

    memset(&room, 0, sizeof room);
    memset(&second, 0, sizeof second);
    room.pool = pool_without_monitor(workers);
    assert_int_equal(pthread_create(&other, NULL, be_in_the_way, joins ? &room : NULL), 0);
    assert_comes_true(atomic_load(&room.here));
    od_forks_enter(room.pool, &stay);
    od_fork_slot *branch = od_fork(note_room, NULL);
    odi_clock_sleep(MILLISECONDS(5)); /* nobody takes it: as many run as may */
    int before = atomic_load(&room.started);
    atomic_store(&room.may_go, 1);
    bool came = COMES_TRUE(atomic_load(&room.started) == 1);
    atomic_store(&second.awake, 3);
    od_join(branch, note_room, NULL);
    od_forks_leave(&stay);
    pthread_join(other, NULL);
    assert_int_equal(before, 0);
    assert_true(came);
    assert_int_equal(od_pool_free(room.pool), OD_OK);
}

static void a_guest_that_leaves_wakes_a_worker_for_forks_that_were_held_back(void **state)
{
    (void)state;
    check_room(2, false);
}

static void a_guest_that_sleeps_in_a_join_wakes_a_worker_for_forks_that_were_held_back(void **state)
{
    (void)state;
    check_room(3, true);
}

/* A guest of a pool of one worker counts as that worker, until it blocks. */
static void check_blocked_guest(bool says_so)
{
    od_pool *pool = says_so ? pool_without_monitor(1) : pool_of(1);
    od_fork_slot *branches[ABOVE];
    od_fork_stay stay;

    memset(&room, 0, sizeof room);
    od_forks_enter(pool, &stay);
    for (int i = 0; i < ABOVE; i++)
        branches[i] = od_fork(note_room, NULL);
    if (says_so) {
        odi_clock_sleep(MILLISECONDS(5));
        assert_int_equal(atomic_load(&room.started), 0);
        od_blocking_begin();
    }
    /* Looks are rare enough for it to be taken for asleep, also where timers have no slack. */
    bool came = false;
    for (int looks = 0; looks < HANG_NS / MILLISECONDS(2) && !came; looks++) {
        odi_clock_sleep(MILLISECONDS(2));
        came = atomic_load(&room.started) == ABOVE;
    }
    if (says_so)
        od_blocking_end();
    for (int i = ABOVE; i-- > 0;)
        od_join(branches[i], note_room, NULL);
    od_forks_leave(&stay);
    assert_true(came);
    assert_int_equal(atomic_load(&room.started), ABOVE);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void a_guest_that_blocks_is_noticed(void **state)
{
    (void)state;
    check_blocked_guest(false);
}

static void a_guest_that_says_that_it_blocks_makes_room(void **state)
{
    (void)state;
    check_blocked_guest(true);
}

static void free_under_a_guest(void *unused)
{
    (void)unused;
    od_pool *pool = pool_of(1);
    od_fork_stay stay;

    od_forks_enter(pool, &stay);
    od_pool_free(pool);
}

static void a_pool_that_is_freed_under_its_guest_says_so(void **state)
{
    (void)state;
    outcome it = in_a_child(free_under_a_guest, NULL, 30);

    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGABRT);
    assert_non_null(strstr(it.said, "must outlive its guests"));
}

/* ---- without room ---- */

/* A pool whose places for guests are all taken. */
static od_pool *pool_without_places(void)
{
    od_pool *pool = pool_of(1);

    odi_store_relaxed(&pool->crew.guests_seen, ODI_MOST_GUESTS);
    return pool;
}

static void a_stay_without_room_lasts_until_it_is_left(void **state)
{
    (void)state;
    od_pool *pool = pool_without_places();
    od_fork_stay stay, inner;
    int looks = 0;

    od_forks_enter(pool, &stay);
    for (int round = 0; round < 3; round++) {
        assert_ptr_equal(od_forks_self, stay.here); /* and not a guest of the default pool */
        assert_int_equal(fib(10), 55);
        looks += od_fork_wanted();
    }
    od_forks_enter(pool, &inner);
    assert_int_equal(fib(10), 55);
    od_forks_leave(&inner);
    assert_ptr_equal(od_forks_self, stay.here);
    od_forks_leave(&stay);
    assert_null(od_forks_self);
    assert_int_equal(looks, 0); /* loops stay whole where nobody can take a part */
    odi_store_relaxed(&pool->crew.guests_seen, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void fork_without_end(void *unused)
{
    (void)unused;
    for (;;)
        (void)od_fork(note_room, NULL);
}

static void use_up_the_slots(void *unused)
{
    (void)unused;
    signal(SIGSEGV, SIG_DFL); /* not cmocka's */
    od_pool *pool = pool_with((od_pool_options){.workers = 1, .stack_bytes = 1 << 20,
                                                .spare_workers = -1}, (odi_pool_world){0});

    od_pool_submit(pool, OD_BAND_DEFAULT, fork_without_end, NULL);
    odi_clock_sleep(HANG_NS);
}

static void a_stack_of_forks_that_is_used_up_says_so(void **state)
{
    (void)state;
    outcome it = in_a_child(use_up_the_slots, NULL, 30);

    if (!SANITIZED) { /* sanitizers report faults themselves */
        assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGSEGV);
        assert_non_null(strstr(it.said, "stack of forks"));
    }
    assert_int_not_equal(it.status, 0);
}

/* ---- after fork(2) ---- */

static void child_goes_on(void *unused)
{
    (void)unused;
    child_expects(fib(FIB_N - 6) == (FIB == 196418 ? 10946 : 377));
}

static void a_forked_child_forks_branches_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(fib(FIB_N), FIB);
    assert_int_equal(in_a_child(child_goes_on, NULL, 30).status, 0);
}

/* Another thread's forks are the parent's: the child runs none of them, and joins none. */
static struct {
    od_pool *pool;
    pid_t parent;
    atomic_int here, may_go, in_child;
} theirs;

static void branch_of_the_parent(void *unused)
{
    (void)unused;
    if (getpid() != theirs.parent)
        atomic_fetch_add(&theirs.in_child, 1);
}

static void *be_elsewhere(void *unused)
{
    od_fork_stay stay;
    od_fork_slot *branches[3];

    od_forks_enter(theirs.pool, &stay);
    for (int i = 0; i < 3; i++)
        branches[i] = od_fork(branch_of_the_parent, unused);
    atomic_store(&theirs.here, 1);
    (void)COMES_TRUE(atomic_load(&theirs.may_go));
    for (int i = 3; i-- > 0;)
        od_join(branches[i], branch_of_the_parent, unused);
    od_forks_leave(&stay);
    return unused;
}

static void fork_where_the_parent_did(void *unused)
{
    (void)unused;
    od_fork_stay stay;

    fib_frame frame = {3, 0};
    od_queue *queue = od_queue_create(theirs.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "child");

    od_forks_enter(theirs.pool, &stay);
    child_expects(fib(FIB_N - 6) == (FIB == 196418 ? 10946 : 377));
    od_forks_leave(&stay);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fib_branch, &frame);
    child_expects(od_queue_wait(queue, HANG_NS));
    odi_clock_sleep(MILLISECONDS(20)); /* the worker looks about once it is idle */
    child_expects(atomic_load(&theirs.in_child) == 0);
}

static void a_forked_child_runs_no_forks_of_its_parents_guests(void **state)
{
    (void)state;
    pthread_t guest;

    memset(&theirs, 0, sizeof theirs);
    theirs.parent = getpid();
    theirs.pool = pool_of(1); /* the guest counts as its worker: nobody takes its forks */
    assert_int_equal(pthread_create(&guest, NULL, be_elsewhere, NULL), 0);
    assert_true(COMES_TRUE(atomic_load(&theirs.here)));
    int status = in_a_child(fork_where_the_parent_did, NULL, 30).status;
    atomic_store(&theirs.may_go, 1);
    pthread_join(guest, NULL);
    assert_int_equal(status, 0);
    assert_int_equal(od_pool_free(theirs.pool), OD_OK);
}

/* Not the first fork's function: whoever takes that one may run it here or in the parent. */
static void note_over(void *unused)
{
    (void)unused;
    atomic_fetch_add(&room.over, 1);
}

/* A thread that forks in a stay within a stay comes back to the outer's forks in the child, where
 * nobody else may use the place. */
static void go_back_in_a_child(void *raw)
{
    od_fork_stay *inner = raw, third;

    child_expects(fib(10) == 55);
    od_forks_leave(inner);
    od_forks *outer = od_forks_self;
    child_expects(outer != NULL);
    od_forks_self = NULL; /* as another thread would */
    od_forks_enter(theirs.pool, &third);
    child_expects(od_forks_self != outer);
    od_forks_leave(&third);
    od_forks_self = outer;
    od_fork_slot *second_fork = od_fork(note_over, NULL);
    od_join(second_fork, note_over, NULL);
    child_expects(atomic_load(&room.over) == 1);
}

static void a_child_comes_back_from_a_stay_within_a_stay(void **state)
{
    (void)state;
    od_fork_stay outer, inner;
    od_pool *other = pool_of(1);

    memset(&theirs, 0, sizeof theirs);
    memset(&room, 0, sizeof room);
    theirs.pool = pool_of(1);
    od_forks_enter(theirs.pool, &outer);
    od_fork_slot *branch = od_fork(note_room, NULL);
    od_forks_enter(other, &inner);
    outcome it = in_a_child(go_back_in_a_child, &inner, 30);
    od_forks_leave(&inner);
    od_join(branch, note_room, NULL);
    od_forks_leave(&outer);
    if (it.status != 0)
        print_error("child: status 0x%x, said: %s\n", (unsigned)it.status, it.said);
    assert_int_equal(it.status, 0);
    assert_int_equal(od_pool_free(other), OD_OK);
    assert_int_equal(od_pool_free(theirs.pool), OD_OK);
}

/* ---- without membarrier ---- */

static void without_membarrier(void *unused)
{
    (void)unused;
    odi_membarrier_refuse();
    od_pool *pool = pool_of(3);
    od_fork_stay stay;

    od_forks_enter(pool, &stay);
    for (int round = 0; round < 20; round++)
        child_expects(fib(FIB_N - 4) == (FIB == 196418 ? 28657 : 987));
    od_forks_leave(&stay);
    child_expects(od_pool_free(pool) == OD_OK);
}

static void forks_need_no_membarrier(void **state)
{
    (void)state;
    assert_int_equal(in_a_child(without_membarrier, NULL, 60).status, 0);
}

static void ask_whether_wanted(void *unused)
{
    (void)unused;
    odi_membarrier_refuse();
    od_pool *pool = pool_of(1); /* the guest counts as its worker: nobody asks */
    od_fork_stay stay;
    int wanted = 0;

    od_forks_enter(pool, &stay);
    od_fork_slot *root = od_fork(note_room, NULL), *branch = od_fork(note_room, NULL);
    for (int look = 0; look < 1000; look++)
        wanted += od_fork_wanted();
    od_join(branch, note_room, NULL);
    od_join(root, note_room, NULL);
    od_forks_leave(&stay);
    child_expects(wanted == 0);
    child_expects(atomic_load(&room.started) == 2);
    child_expects(od_pool_free(pool) == OD_OK);
}

static void without_membarrier_loops_are_divided_only_where_somebody_asks(void **state)
{
    (void)state;
    memset(&room, 0, sizeof room);
    assert_int_equal(in_a_child(ask_whether_wanted, NULL, 60).status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: the handler is installed once, and cmocka installs its own for each test. */
        cmocka_unit_test(a_stack_that_is_used_up_says_so),
        cmocka_unit_test(a_stack_of_forks_that_is_used_up_says_so),
        cmocka_unit_test(forks_need_no_membarrier),
        cmocka_unit_test(without_membarrier_loops_are_divided_only_where_somebody_asks),
        cmocka_unit_test(a_thread_that_forks_becomes_a_guest_of_the_default_pool),
        cmocka_unit_test(a_guest_stays_while_it_runs_its_own_roots_branch),
        cmocka_unit_test(guests_and_workers_get_the_right_answer),
        cmocka_unit_test(many_guests_share_a_pool),
        cmocka_unit_test(forks_above_a_long_leaf_are_taken),
        cmocka_unit_test(forks_above_a_blocked_leaf_are_taken),
        cmocka_unit_test(a_sleeper_is_woken_for_a_fork_that_comes_later),
        cmocka_unit_test(a_second_sleeper_is_woken_when_the_first_stays_in_its_branch),
        cmocka_unit_test(workers_with_small_stacks_share_their_forks),
        cmocka_unit_test(a_worker_that_has_stolen_forks_is_noticed_when_it_blocks),
        cmocka_unit_test(a_joiner_that_holds_a_lock_runs_no_stranger),
        cmocka_unit_test(forks_nest_as_deep_as_the_stack),
        cmocka_unit_test(a_stolen_branch_works_for_its_owners_work),
        cmocka_unit_test(a_stolen_branch_inherits_what_began_above_the_root),
        cmocka_unit_test(a_stolen_branch_inherits_work_however_deep_it_is_nested),
        cmocka_unit_test(an_owner_sleeps_while_a_thief_does_not_come_to_move_its_split),
        cmocka_unit_test(a_guest_that_leaves_wakes_a_worker_for_forks_that_were_held_back),
        cmocka_unit_test(a_guest_that_sleeps_in_a_join_wakes_a_worker_for_forks_that_were_held_back),
        cmocka_unit_test(a_guest_that_blocks_is_noticed),
        cmocka_unit_test(a_guest_that_says_that_it_blocks_makes_room),
        cmocka_unit_test(a_pool_that_is_freed_under_its_guest_says_so),
        cmocka_unit_test(a_stay_without_room_lasts_until_it_is_left),
        cmocka_unit_test(a_child_comes_back_from_a_stay_within_a_stay),
        cmocka_unit_test(a_forked_child_forks_branches_of_its_own),
        cmocka_unit_test(a_forked_child_runs_no_forks_of_its_parents_guests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
