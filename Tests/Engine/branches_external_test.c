/* branches_external_test.c — threads that are no workers and fork: they count as one while they run, and what is
 * theirs stays theirs, also in a child of fork(2). */

#include "Support/branches.h"
#include "Support/looks.h"
#include "Support/process.h"
#include "worker/external.h"

CHILDREN_MAY_START_THREADS

/* ---- by forking ---- */

TEST(a_thread_that_forks_becomes_an_external_thread_of_the_default_pool)
{
    assert_null(od_forks_self);
    assert_int_equal(fib(FIB_N), FIB);
    assert_null(od_forks_self); /* it has left */
}

/* An external thread that came by forking runs the root's branch itself, and forks in it: it stays until the
 * root is joined, and gives its place up once. */
static struct {
    pthread_t external;
    int here, left;
    atomic_int elsewhere;
} own_root;

static void note_where(void *unused)
{
    atomic_fetch_add(&own_root.elsewhere, !pthread_equal(own_root.external, pthread_self()));
}

/* Also where that is taken by another, if there is one. */
static void fork_one_that_is_taken(void)
{
    int before = atomic_load(&own_root.elsewhere);
    od_fork_slot *branch = od_fork(note_where, NULL);

    (void)(od_pool_workers(od_default_pool()) > 1 && COMES_TRUE(atomic_load(&own_root.elsewhere) > before));
    od_join(branch, note_where, NULL);
}

static void fork_in_the_branch(void *unused)
{
    if (!pthread_equal(own_root.external, pthread_self()))
        return;
    od_forks *before = od_forks_self;
    for (int i = 0; i < 2; i++) {
        od_fork_slot *branch = od_fork(no_job, unused);
        od_join(branch, no_job, unused);
    }
    if (own_root.here < 5)
        fork_one_that_is_taken();
    own_root.here++;
    own_root.left += od_forks_self != before;
}

TEST(an_external_thread_stays_while_it_runs_its_own_roots_branch)
{
    own_root.external = pthread_self();
    for (int round = 0; round < 100000 && own_root.here < 100; round++) {
        od_fork_slot *root = od_fork(fork_in_the_branch, NULL);
        od_join(root, fork_in_the_branch, NULL);
        assert_null(od_forks_self);
    }
    assert_int_equal(own_root.here, 100);
    assert_int_equal(own_root.left, 0);
}

/* The place that it had by forking left at each root; a scope's stays until it is left, or it is given up twice. */
TEST(a_scope_after_forks_without_one_stays_beyond_its_first_join)
{
    od_fork_scope scope, inner;

    assert_int_equal(fib(FIB_N), FIB);
    od_forks_enter(od_default_pool(), &scope);
    for (int i = 0; i < 50; i++) {
        od_join(od_fork(no_job, NULL), no_job, NULL);
        assert_ptr_equal(od_forks_self, scope.here);
    }
    od_forks_enter(od_default_pool(), &inner);
    assert_int_equal(odi_externals_here(&od_default_pool()->team), 1); /* once */
    od_forks_leave(&inner);
    od_forks_leave(&scope);
    assert_null(od_forks_self);
}

/* ---- external threads count as workers, while they run ---- */

static void do_nothing(odi_team *unused) {}

/* A pool whose monitor makes up for nothing. */
static od_pool *pool_without_monitor(int workers)
{
    od_pool *pool = pool_of(workers);

    pool->team.arm_monitor = do_nothing;
    return pool;
}

static struct {
    od_pool *pool;
    atomic_int here, awake, may_go, started, over;
} room;

static void meet(void *unused)
{
    atomic_fetch_add(&room.awake, 1);
    (void)COMES_TRUE(atomic_load(&room.awake) == 3);
}

enum { ABOVE = 10 };

/* Enters, and goes or sleeps in a join when told to: computing until then. */
static void *be_in_the_way(void *raw)
{
    bool joins = raw != NULL;
    od_fork_scope scope;

    od_forks_enter(room.pool, &scope);
    if (joins) {
        od_fork_slot *branch = od_fork(meet, NULL); /* two more make three */
        (void)COMES_TRUE(atomic_load(&room.awake) == 1);
        atomic_store(&room.here, 1);
        compute_until(&room.may_go);
        od_join(branch, meet, NULL);
    } else {
        atomic_store(&room.here, 1);
        compute_until(&room.may_go);
    }
    od_forks_leave(&scope);
    return NULL;
}

static void *hold_a_branch_back(void *unused)
{
    od_fork_scope scope;

    od_forks_enter(room.pool, &scope);
    od_fork_slot *branch = od_fork(no_job, unused);
    atomic_store(&room.here, 1);
    compute_until(&room.may_go);
    od_join(branch, no_job, unused);
    od_forks_leave(&scope);
    return NULL;
}

/* It is its external thread's, which runs it when nobody else does: a stop that looked for it would start one worker
 * after another for it, none of which may have it. */
TEST(a_stop_starts_no_workers_for_an_external_threads_branch)
{
    pthread_t external;

    for (int round = 0; round < 20; round++) {
        memset(&room, 0, sizeof room);
        room.pool = pool_without_monitor(1);
        assert_int_equal(pthread_create(&external, NULL, hold_a_branch_back, NULL), 0);
        assert_comes_true(atomic_load(&room.here) == 1);
        assert_int_equal(od_pool_stop(room.pool, MILLISECONDS(100), NULL), OD_OK);
        assert_int_equal(metrics_of(room.pool).threads_started, 0);
        atomic_store(&room.may_go, 1);
        pthread_join(external, NULL);
        assert_int_equal(od_pool_free(room.pool), OD_OK);
    }
}

static void note_room(void *unused) { atomic_fetch_add(&room.started, 1); }

/* Nobody was woken for the forks there are, and it was noted: as many run as may. */
static bool forks_are_held_back(od_pool *pool, uint64_t threads_before)
{
    return odi_load_relaxed(&pool->team.held_back) && /* relaxed: the caller's own note */
           metrics_of(pool).threads_started == threads_before && atomic_load(&room.started) == 0;
}

/* Another external thread's fork starts once the first has made room. */
static void check_room(int workers, bool joins)
{
    pthread_t other;
    od_fork_scope scope;

    memset(&room, 0, sizeof room);
    room.pool = pool_without_spares(workers); /* threads are counted, and nobody sits on the bench */
    room.pool->team.arm_monitor = do_nothing;
    assert_int_equal(pthread_create(&other, NULL, be_in_the_way, joins ? &room : NULL), 0);
    assert_comes_true(atomic_load(&room.here));
    /* A worker that came for nothing would take what is forked now before it sleeps. */
    assert_comes_true(idle_ones_sleep(room.pool, (int)metrics_of(room.pool).threads_started - joins));
    od_forks_enter(room.pool, &scope);
    uint64_t threads = metrics_of(room.pool).threads_started;
    od_fork_slot *branch = od_fork(note_room, NULL);
    odi_clock_sleep(MILLISECONDS(5)); /* who looks about once more does so while there is no room */
    bool held_back = forks_are_held_back(room.pool, threads);
    atomic_store(&room.may_go, 1);
    bool came = COMES_TRUE(atomic_load(&room.started) == 1);
    atomic_store(&room.awake, 3);
    od_join(branch, note_room, NULL);
    od_forks_leave(&scope);
    pthread_join(other, NULL);
    assert_true(held_back);
    assert_true(came);
    assert_int_equal(od_pool_free(room.pool), OD_OK);
}

TEST(an_external_thread_that_leaves_wakes_a_worker_for_forks_that_were_held_back) { check_room(2, false); }

TEST(an_external_thread_that_sleeps_in_a_join_wakes_a_worker_for_forks_that_were_held_back)
{
    check_room(3, true);
}

/* Every look of the monitor had a worker started or woken for the forks, which it may not take while the external
 * thread computes. */
TEST(a_computing_external_thread_has_no_worker_called_for_its_forks)
{
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(no_job, NULL);
    pool->team.arm_monitor(&pool->team); /* as who submits where nobody is free does */
    for (int64_t until = odi_clock_after(MILLISECONDS(50)); odi_clock_now() < until;)
        ;
    bool looks = !(odi_load_relaxed(&pool->team.attention) & ODI_MONITOR_OFF); /* relaxed: as above */
    uint64_t threads = metrics_of(pool).threads_started;
    od_join(branch, no_job, NULL);
    od_forks_leave(&scope);
    assert_true(looks);
    assert_int_equal(threads, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* Awake for a job of its own it would be one too many beside the external thread, which computes. */
TEST(a_worker_takes_no_fork_while_an_external_thread_has_its_place)
{
    od_pool *pool = pool_without_monitor(1);
    atomic_ullong ran = 0;
    od_fork_scope scope;

    memset(&room, 0, sizeof room);
    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(note_room, NULL);
    odi_store_relaxed(&pool->team.held_back, false); /* as after a wait in which nobody came by the fork */
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    bool looked = COMES_TRUE(atomic_load(&ran) == 1) && COMES_TRUE(idle_ones_sleep(pool, 1));
    int taken = atomic_load(&room.started);
    od_blocking_begin();
    bool came = COMES_TRUE(atomic_load(&room.started) == 1); /* it has noted that the fork waits */
    od_blocking_end();
    od_join(branch, note_room, NULL);
    od_forks_leave(&scope);
    assert_true(looked);
    assert_int_equal(taken, 0);
    assert_true(came);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* An external thread of a pool of one worker counts as that worker, but while it says that it blocks. */
TEST(an_external_thread_that_says_that_it_blocks_makes_room)
{
    od_pool *pool = pool_without_monitor(1);
    od_fork_slot *branches[ABOVE];
    od_fork_scope scope;

    memset(&room, 0, sizeof room);
    od_forks_enter(pool, &scope);
    for (int i = 0; i < ABOVE; i++)
        branches[i] = od_fork(note_room, NULL);
    assert_true(forks_are_held_back(pool, 0));
    od_blocking_begin();
    bool came = COMES_TRUE(atomic_load(&room.started) == ABOVE);
    od_blocking_begin(); /* pairs nest */
    od_blocking_end();
    int while_it_blocks = odi_externals_here(&pool->team);
    od_blocking_end();
    int afterwards = odi_externals_here(&pool->team);
    for (int i = ABOVE; i-- > 0;)
        od_join(branches[i], note_room, NULL);
    od_forks_leave(&scope);
    assert_true(came);
    assert_int_equal(atomic_load(&room.started), ABOVE);
    assert_int_equal(while_it_blocks, 0);
    assert_int_equal(afterwards, 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* A section that it began and did not end is none of whoever has its place next. */
TEST(who_leaves_in_the_midst_of_a_wait_leaves_a_place_that_does_not_wait)
{
    od_pool *pool = pool_without_monitor(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_blocking_begin();
    od_forks_leave(&scope);
    od_forks_enter(pool, &scope);
    odi_forks *place = odi_external_at(&pool->team, 0);
    bool waits = odi_load_relaxed(&place->says_blocking); /* relaxed: of this thread */
    bool taken = odi_load_relaxed(&place->taken) != 0;
    od_forks_leave(&scope);
    assert_true(taken);
    assert_false(waits);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

TEST(a_section_that_began_before_an_external_thread_came_ends_nothing_of_its_own)
{
    od_pool *pool = pool_without_monitor(1);
    od_fork_scope scope;

    od_blocking_begin();
    od_forks_enter(pool, &scope);
    od_blocking_end();
    od_blocking_begin();
    bool waits = odi_load_relaxed(&odi_external_at(&pool->team, 0)->says_blocking); /* relaxed: of this thread */
    od_blocking_end();
    od_forks_leave(&scope);
    assert_true(waits);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void free_under_an_external(void *unused)
{
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_pool_free(pool);
}

TEST(a_pool_that_is_freed_under_its_external_thread_says_so)
{
    outcome it = in_a_child(free_under_an_external, NULL, 30);

    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGABRT);
    assert_non_null(strstr(it.said, "still uses the pool for forks"));
}

/* Mappings of the process that are so large, without a guard of one page. */
static int guarded_mappings(size_t bytes)
{
    FILE *file = fopen("/proc/self/maps", "r");
    size_t whole = bytes - (size_t)sysconf(_SC_PAGESIZE);
    unsigned long from, to;
    int count = 0;

    assert_non_null(file);
    while (fscanf(file, "%lx-%lx%*[^\n]", &from, &to) == 2)
        count += to - from == whole;
    fclose(file);
    return count;
}

TEST_UNSANITIZED(a_pool_gives_back_what_was_reserved_for_forks, NULL, NULL)
{
    enum { SLOTS = 5 << 20, NOTES = 2 * ODI_FORKS_NOTES * sizeof(odi_forks_note), EXTERNALS = 256 << 20 };
    od_pool_options options = options_for(1);
    atomic_ullong ran = 0;
    od_fork_scope scope;

    if (getenv("EMULATED") != NULL)
        skip(); /* the mappings are the emulator's */
    options.stack_bytes = SLOTS;
    options.spare_workers = 0;
    int notes = guarded_mappings(NOTES), externals = guarded_mappings(EXTERNALS);
    od_pool *pool = pool_with(options, (odi_pool_world){0});
    od_pool_submit(pool, OD_BAND_DEFAULT, count_job, &ran);
    assert_comes_true(atomic_load(&ran) == 1);
    od_forks_enter(pool, &scope);
    od_forks_leave(&scope);
    assert_int_equal(guarded_mappings(NOTES), notes + 2);
    assert_int_equal(guarded_mappings(EXTERNALS), externals + 1);
    assert_int_equal(guarded_mappings(SLOTS), 1);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_int_equal(guarded_mappings(NOTES), notes);
    assert_int_equal(guarded_mappings(EXTERNALS), externals);
    assert_int_equal(guarded_mappings(SLOTS), 0);
}

/* The next one there began to block where that one had not ended, and was counted for ever. */
TEST(whose_section_ends_after_its_stay_leaves_none_to_the_next_at_its_place)
{
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    for (int round = 0; round < 2; round++) {
        od_forks_enter(pool, &scope);
        assert_int_equal(odi_externals_here(&pool->team), 1);
        od_blocking_begin();
        assert_int_equal(odi_externals_here(&pool->team), 0);
        od_forks_leave(&scope);
        od_blocking_end();
    }
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void block_elsewhere(void *raw)
{
    od_pool **pools = raw;
    od_fork_scope scope;

    od_forks_enter(pools[1], &scope);
    od_blocking_begin();
    bool both = odi_externals_here(&pools[1]->team) == 0 && blocked_in(pools[0]) == 1;
    od_blocking_end();
    both &= odi_externals_here(&pools[1]->team) == 1 && blocked_in(pools[0]) == 0;
    od_forks_leave(&scope);
    atomic_store(&room.over, both ? 1 : -1);
}

TEST(a_worker_that_blocks_in_another_pool_hands_both_places_over)
{
    od_pool *pools[] = {pool_of(1), pool_of(1)};

    memset(&room, 0, sizeof room);
    od_pool_submit(pools[0], OD_BAND_DEFAULT, block_elsewhere, pools);
    assert_comes_true(atomic_load(&room.over) != 0);
    assert_int_equal(atomic_load(&room.over), 1);
    for (int each = 0; each < 2; each++)
        assert_int_equal(od_pool_free(pools[each]), OD_OK);
}

/* ---- without room ---- */

static gate own_place;

/* A pool whose places for external threads are all taken. */
static od_pool *pool_without_places(void)
{
    od_pool *pool = pool_of(1);

    odi_store_relaxed(&pool->team.externals_seen, ODI_MOST_EXTERNALS);
    return pool;
}

/* One is left: it has its room, and the next one none. */
TEST(each_place_for_external_threads_is_used)
{
    od_pool *pool = pool_without_places();

    odi_store_relaxed(&pool->team.externals_seen, ODI_MOST_EXTERNALS - 1); /* relaxed, all: nobody else is there */
    odi_forks *last = odi_external_enter(&pool->team);
    assert_non_null(last);
    assert_null(odi_external_enter(&pool->team));
    odi_external_give_up(last);
    assert_ptr_equal(odi_external_enter(&pool->team), last);
    odi_external_give_up(last);
    assert_int_equal(odi_load_relaxed(&pool->team.externals_seen), ODI_MOST_EXTERNALS);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void *enter_twice(void *raw)
{
    od_pool *pool = raw;
    odi_forks *mine = odi_external_enter(&pool->team);

    gate_pass(&own_place);
    odi_external_give_up(mine);
    odi_forks *again = odi_external_enter(&pool->team);
    odi_external_give_up(again);
    return again == mine ? mine : NULL;
}

/* Whose lines are in its cache. */
TEST(who_comes_again_has_the_place_that_it_had_though_one_before_it_is_free)
{
    od_pool *pool = pool_of(1);
    pthread_t second;
    void *same;

    odi_forks *first = odi_external_enter(&pool->team);
    own_place = (gate){0};
    assert_int_equal(pthread_create(&second, NULL, enter_twice, pool), 0);
    assert_comes_true(atomic_load(&own_place.waiting) == 1);
    odi_external_give_up(first);
    gate_open(&own_place);
    pthread_join(second, &same);
    assert_non_null(same);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* Behind the last of them stands whether forks are held back. */
TEST(metrics_are_of_the_places_and_nothing_behind_them)
{
    od_pool *pool = pool_without_places();

    odi_store_relaxed(&pool->team.held_back, true); /* relaxed: nobody else is there */
    assert_int_equal(metrics_of(pool).forks_stolen, 0);
    odi_store_relaxed(&pool->team.held_back, false); /* relaxed, and below: as above */
    odi_store_relaxed(&pool->team.externals_seen, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void fork_nothing(void *unused) {}

TEST(a_scope_without_room_lasts_until_it_is_left)
{
    od_pool *pool = pool_without_places();
    od_fork_scope scope, inner;
    int looks = 0;

    od_forks_enter(pool, &scope);
    for (int round = 0; round < 3; round++) {
        assert_ptr_equal(od_forks_self, scope.here); /* and not an external thread of the default pool */
        assert_int_equal(fib(10), 55);
        looks += od_fork_wanted();
    }
    od_forks_enter(pool, &inner);
    assert_int_equal(fib(10), 55);
    od_forks_leave(&inner);
    assert_ptr_equal(od_forks_self, scope.here);
    assert_int_equal(((odi_forks *)scope.here)->depth, 1);
    od_forks_leave(&scope);
    assert_null(od_forks_self);
    assert_int_equal(looks, 0); /* loops stay whole where nobody can take a part */


    odi_team *own = &od_default_pool()->team; /* nor does a root without room leave anything behind */
    odi_forks *first = odi_load_relaxed(&own->externals[0]);
    int places = odi_load_relaxed(&own->externals_seen); /* relaxed, all: as above */
    odi_store_relaxed(&own->externals[0], (odi_forks *)NULL);
    odi_store_relaxed(&own->externals_seen, ODI_MOST_EXTERNALS);
    assert_true(places <= 1);
    od_join(od_fork(fork_nothing, NULL), fork_nothing, NULL);
    assert_null(od_forks_self);
    odi_store_relaxed(&own->externals_seen, places);
    odi_store_relaxed(&own->externals[0], first);
    odi_store_relaxed(&pool->team.externals_seen, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* ---- after fork(2) ---- */

static void child_goes_on(void *unused)
{
    child_expects(fib(FIB_N - 6) == (FIB == 196418 ? 10946 : 377));
}

TEST(a_forked_child_forks_branches_of_its_own)
{
    assert_int_equal(fib(FIB_N), FIB);
    assert_int_equal(in_a_child(child_goes_on, NULL, 30).status, 0);
}

static gate not_the_childs;
static void join_what_the_parent_runs(void *branch) { od_join(branch, gate_job, &not_the_childs); }

/* A child would wait for ever for a thread that it does not have. */
TEST(a_forked_child_says_that_it_joins_a_branch_that_a_thread_of_its_parent_runs)
{
    od_pool *pool = pool_of(2);
    gate door = {0};
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(gate_job, &door);
    bool taken = COMES_TRUE(atomic_load(&door.waiting) == 1);
    outcome it = in_a_child(join_what_the_parent_runs, branch, 10);
    gate_open(&door);
    od_join(branch, gate_job, &door);
    od_forks_leave(&scope);
    assert_true(taken);
    assert_non_null(strstr(it.said, "another thread ran its sibling"));
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void join_nothing(void *branch) { od_join(branch, no_job, NULL); }

/* That thread is not the child's, which waited for it. */
TEST(a_forked_child_joins_where_a_thread_of_its_parent_was_about_to_move_the_split)
{
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_fork_slot *branch = od_fork(no_job, NULL);
    uintptr_t limit = odi_load_relaxed(&od_forks_self->limit); /* relaxed, both: nobody else is there */
    odi_store_relaxed(&od_forks_self->limit, ODI_FORKS_CLAIMED);
    outcome it = in_a_child(join_nothing, branch, 10);
    odi_store_relaxed(&od_forks_self->limit, limit);
    od_join(branch, no_job, NULL);
    od_forks_leave(&scope);
    assert_int_equal(it.status, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void free_it(void *pool) { child_expects(od_pool_free(pool) == OD_OK); }

/* It was this thread's before, which says so of itself as it leaves. */
TEST(a_forked_child_keeps_no_place_that_a_thread_of_its_parent_was_about_to_have)
{
    od_pool *pool = pool_of(1);
    od_fork_scope scope;

    od_forks_enter(pool, &scope);
    od_forks_leave(&scope);
    odi_forks *place = odi_external_at(&pool->team, 0);
    odi_store_relaxed(&place->taken, 1); /* relaxed, both: nobody else is there */
    outcome it = in_a_child(free_it, pool, 30);
    odi_store_relaxed(&place->taken, 0);
    assert_int_equal(it.status, 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

/* Another thread's forks are the parent's: the child runs none of them, and joins none. */
static struct {
    od_pool *pool;
    pid_t parent;
    atomic_int here, may_go, in_child;
} theirs;

static void branch_of_the_parent(void *unused)
{
    if (getpid() != theirs.parent)
        atomic_fetch_add(&theirs.in_child, 1);
}

static void *be_elsewhere(void *unused)
{
    od_fork_scope scope;
    od_fork_slot *branches[3];

    od_forks_enter(theirs.pool, &scope);
    for (int i = 0; i < 3; i++)
        branches[i] = od_fork(branch_of_the_parent, unused);
    atomic_store(&theirs.here, 1);
    (void)COMES_TRUE(atomic_load(&theirs.may_go));
    for (int i = 3; i-- > 0;)
        od_join(branches[i], branch_of_the_parent, unused);
    od_forks_leave(&scope);
    return unused;
}

static void fork_where_the_parent_did(void *unused)
{
    od_fork_scope scope;

    fib_frame frame = {3, 0};
    od_queue *queue = od_queue_create(theirs.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "child");

    child_expects(od_pool_set_workers(theirs.pool, 2) == OD_OK); /* one more than the external thread, were it here */
    od_forks_enter(theirs.pool, &scope);
    child_expects(fib(FIB_N - 6) == (FIB == 196418 ? 10946 : 377));
    od_forks_leave(&scope);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, fib_branch, &frame);
    child_expects(od_queue_wait(queue, HANG_NS));
    child_expects(COMES_TRUE(idle_ones_sleep(theirs.pool, 1))); /* having looked about */
    child_expects(atomic_load(&theirs.in_child) == 0);
}

TEST(a_forked_child_runs_no_forks_of_its_parents_external_threads)
{
    pthread_t external;

    memset(&theirs, 0, sizeof theirs);
    theirs.parent = getpid();
    theirs.pool = pool_of(1); /* the external thread counts as its worker: nobody takes its forks */
    assert_int_equal(pthread_create(&external, NULL, be_elsewhere, NULL), 0);
    assert_true(COMES_TRUE(atomic_load(&theirs.here)));
    int status = in_a_child(fork_where_the_parent_did, NULL, 30).status;
    atomic_store(&theirs.may_go, 1);
    pthread_join(external, NULL);
    assert_int_equal(status, 0);
    assert_int_equal(od_pool_free(theirs.pool), OD_OK);
}

/* Not the first fork's function: whoever takes that one may run it here or in the parent. */
static void note_over(void *unused) { atomic_fetch_add(&room.over, 1); }

/* A thread that forks in a stay within a stay comes back to the outer's forks in the child, where
 * nobody else may use the place. */
static void go_back_in_a_child(void *raw)
{
    od_fork_scope *inner = raw, third;

    child_expects(odi_externals_here(&theirs.pool->team) == 2); /* the outermost and the innermost */
    child_expects(fib(10) == 55);
    od_forks_leave(inner + 1);
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

TEST(a_child_comes_back_from_a_scope_within_a_scope)
{
    od_fork_scope outer, inner[2];
    od_pool *other = pool_of(1);

    memset(&theirs, 0, sizeof theirs);
    memset(&room, 0, sizeof room);
    theirs.pool = pool_of(1);
    od_forks_enter(theirs.pool, &outer);
    od_fork_slot *branch = od_fork(note_room, NULL);
    od_forks_enter(other, &inner[0]);
    od_forks_enter(theirs.pool, &inner[1]);
    outcome it = in_a_child(go_back_in_a_child, inner, 30);
    od_forks_leave(&inner[1]);
    od_forks_leave(&inner[0]);
    od_join(branch, note_room, NULL);
    od_forks_leave(&outer);
    if (it.status != 0)
        print_error("child: status 0x%x, said: %s\n", (unsigned)it.status, it.said);
    assert_int_equal(it.status, 0);
    assert_int_equal(od_pool_free(other), OD_OK);
    assert_int_equal(od_pool_free(theirs.pool), OD_OK);
}

static struct {
    od_queue *queue;
    od_group *group;
    atomic_int here;
} awaited;

static void look_who_is_here(void *unused)
{
    (void)unused;
    atomic_store(&awaited.here, COMES_TRUE(odi_externals_here(&od_default_pool()->team) == 0) ? 0 : 1);
}

/* It counted as a thread that computes, and the job that it waited for got no second thread for its forks. */
TEST(an_external_thread_that_waits_for_a_group_or_a_queue_leaves_its_place)
{
    od_fork_scope scope;

    awaited.queue = od_queue_create(od_default_pool(), OD_BAND_DEFAULT, 1, "awaited");
    awaited.group = od_group_create();
    for (int by_group = 0; by_group < 2; by_group++) {
        atomic_store(&awaited.here, 1);
        od_forks_enter(od_default_pool(), &scope);
        od_queue_async(awaited.queue, awaited.group, OD_QUEUE_BAND, look_who_is_here, NULL);
        assert_true(by_group ? od_group_wait(awaited.group, HANG_NS) : od_queue_wait(awaited.queue, HANG_NS));
        od_forks_leave(&scope);
        assert_int_equal(atomic_load(&awaited.here), 0);
    }
    od_group_release(awaited.group);
    od_queue_release(awaited.queue);
}

TEST_PROGRAM
