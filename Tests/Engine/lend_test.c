/* lane/lend: who waits, or what was submitted, in a higher band lends it to what is before it.
 *
 * One worker and no spare, held at a gate while the scene is set: the order is exact then. */
#include "Support/pools.h"
#include "Support/watchdog.h"

#include <pthread.h>

#include "lane/queue.h"
#include "os/thread.h"

enum { DEFAULTS = 20, MOST = 64 };

static struct {
    od_pool *pool;
    gate door;
    char order[MOST + 1];
    atomic_int ran;
    uint32_t lent_when_raised;
} scene;

static void note(void *letter)
{
    int at = atomic_fetch_add(&scene.ran, 1);

    if (at < MOST)
        scene.order[at] = (char)(uintptr_t)letter;
}

static int hold_the_worker(void **state)
{
    (void)state;
    memset(&scene, 0, sizeof scene);
    scene.pool = lone_worker();
    od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, gate_job, &scene.door);
    return COMES_TRUE(atomic_load(&scene.door.waiting) == 1) ? 0 : -1;
}

static int free_the_pool(void **state)
{
    (void)state;
    return od_pool_free(scene.pool) == OD_OK ? 0 : -1;
}

static od_queue *background(int32_t width)
{
    return od_queue_create(scene.pool, OD_BAND_BACKGROUND, width, "background");
}

static void add(od_queue *queue, int32_t band, char letter)
{
    od_queue_async(queue, NULL, band, note, (void *)(uintptr_t)letter);
}

static void flood_the_middle(void)
{
    for (int i = 0; i < DEFAULTS; i++)
        od_pool_submit(scene.pool, OD_BAND_DEFAULT, note, (void *)(uintptr_t)'d');
}

/* Opens the gate and takes the queue down. `order` is what ran, without the middle band's jobs:
 * the first `before` letters before all of these, the others after them. */
static void assert_order(od_queue *queue, const char *order, size_t before)
{
    char expected[MOST + 1] = "";
    size_t letters = strlen(order);

    gate_open(&scene.door);
    assert_comes_true((size_t)atomic_load(&scene.ran) == DEFAULTS + letters);
    assert_true(od_queue_wait(queue, HANG_NS)); /* not before: it would lend */
    memcpy(expected, order, before);
    memset(expected + before, 'd', DEFAULTS);
    memcpy(expected + before + DEFAULTS, order + before, letters - before);
    assert_string_equal(scene.order, expected);
    od_queue_release(queue);
}

/* ---- jobs ---- */

static void a_job_of_a_higher_band_takes_along_what_is_before_it_in_the_lane(void **state)
{
    od_queue *queue = background(1);

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_QUEUE_BAND, 'b');
    flood_the_middle();
    add(queue, OD_BAND_USER_INITIATED, 'C');
    add(queue, OD_QUEUE_BAND, 'e');
    add(queue, OD_QUEUE_BAND, 'f');
    assert_order(queue, "abCef", 3);
}

static void without_one_the_lane_is_served_in_its_own_band(void **state)
{
    od_queue *queue = background(1);

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    flood_the_middle();
    add(queue, OD_BAND_BACKGROUND, 'b');
    assert_order(queue, "ab", 0);
}

static void a_lane_with_several_places_is_raised_too(void **state)
{
    od_queue *queue = background(3);

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_QUEUE_BAND, 'b');
    flood_the_middle();
    add(queue, OD_BAND_USER_INTERACTIVE, 'C');
    add(queue, OD_QUEUE_BAND, 'e');
    assert_order(queue, "abCe", 3);
}

static void a_job_of_a_group_and_a_barrier_raise_too(void **state)
{
    od_queue *queue = background(1);
    od_group *group = od_group_create();

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    flood_the_middle();
    od_queue_async(queue, group, OD_BAND_USER_INITIATED, note, (void *)(uintptr_t)'B');
    od_queue_async_with(queue, NULL, OD_BAND_USER_INTERACTIVE, OD_BARRIER, note,
                        (void *)(uintptr_t)'C');
    add(queue, OD_QUEUE_BAND, 'e');
    assert_order(queue, "aBCe", 3);
    od_group_release(group);
}

static void a_suspended_lane_is_raised_when_it_goes_on(void **state)
{
    od_queue *queue = background(1);

    (void)state;
    od_queue_suspend(queue);
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_BAND_USER_INTERACTIVE, 'B');
    add(queue, OD_QUEUE_BAND, 'c');
    flood_the_middle();
    od_queue_resume(queue);
    assert_order(queue, "aBc", 2);
}

static void what_a_cancel_takes_out_raises_nothing_any_more(void **state)
{
    od_queue *queue = background(1);

    (void)state;
    add(queue, OD_QUEUE_BAND, 'x');
    add(queue, OD_BAND_USER_INTERACTIVE, 'X');
    flood_the_middle();
    assert_int_equal(od_queue_cancel_all(queue), 2);
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_QUEUE_BAND, 'b');
    assert_order(queue, "ab", 0);
}

/* A drainer takes several jobs at once only where no other band may have work. */
static bool no_band_is_hinted_at(void)
{
    odi_crew *crew = &scene.pool->crew;
    odi_worker *worker = odi_load_acquire(&crew->slots[0], W1);

    /* relaxed, both: hints */
    return (odi_load_relaxed(&crew->sites[0].bands) | odi_load_relaxed(&worker->bands)) == 0;
}

/* Found by reading: what was taken back went before the job without being counted, and the raise
 * ended before it. */
static void what_a_suspension_takes_out_of_a_hand_is_raised_too(void **state)
{
    enum { IN_HAND = 8 };
    od_queue *queue = background(1);
    gate door = {0};

    (void)state;
    gate_open(&scene.door);
    assert_comes_true(no_band_is_hinted_at());
    od_queue_suspend(queue);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, &door);
    for (int i = 0; i < IN_HAND; i++)
        add(queue, OD_QUEUE_BAND, 'h');
    od_queue_resume(queue);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    /* relaxed: its drainer took the others into its hand before it began with the gate */
    int32_t in_hand = odi_load_relaxed(&queue->hands[0].left);
    add(queue, OD_BAND_USER_INTERACTIVE, 'U');
    od_queue_suspend(queue);
    od_queue_resume(queue);
    flood_the_middle();
    gate_open(&door);
    assert_order(queue, "hhhhhhhhU", IN_HAND + 1);
    assert_int_equal(in_hand, IN_HAND);
}

/* ---- sync callers ---- */

/* Whether what a raise gives has come to the pool, in the first thread's band. */
static bool a_pass_waits(void)
{
    return odi_injector_size(
               &scene.pool->crew.sites[0].injectors[OD_BAND_USER_INTERACTIVE]) > 0;
}

static void *open_when_somebody_waits(void *raw)
{
    od_queue *queue = raw;
    uint32_t waiting;

    do {
        odi_clock_sleep(100 * ODI_MICROSECOND);
        odi_lock_acquire(&queue->watch.lock);
        waiting = odi_lane_waiting(queue);
        odi_lock_release(&queue->watch.lock);
    } while (waiting < 2 || !a_pass_waits());
    gate_open(&scene.door);
    return NULL;
}

/* The first thread's band is the highest. What it waits for is what the lane holds before it. */
static void a_sync_caller_takes_along_what_is_before_it(void **state)
{
    od_queue *queue = background(1);
    pthread_t opener;
    od_stay stay;

    (void)state;
    assert_int_equal(odi_band_of_thread(), OD_BAND_USER_INTERACTIVE);
    add(queue, OD_QUEUE_BAND, 'a');
    flood_the_middle();
    pthread_create(&opener, NULL, open_when_somebody_waits, queue);
    od_queue_sync_begin(queue, &stay);
    od_queue_sync_end(&stay);
    pthread_join(opener, NULL);
    assert_order(queue, "a", 1);
}

static void *note_band_of_thread(void *band)
{
    *(uint32_t *)band = odi_band_of_thread();
    return NULL;
}

static void note_band_in_job(void *band)
{
    (void)note_band_of_thread(band);
}

static void a_thread_is_in_its_jobs_band_or_in_the_middle(void **state)
{
    od_queue *queue = background(1);
    pthread_t thread;
    uint32_t band = 99;

    (void)state;
    pthread_create(&thread, NULL, note_band_of_thread, &band);
    pthread_join(thread, NULL);
    assert_int_equal(band, OD_BAND_DEFAULT);
    od_queue_async(queue, NULL, OD_BAND_UTILITY, note_band_in_job, &band);
    gate_open(&scene.door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(band, OD_BAND_UTILITY);

    /* Where there are no workers it runs here, in its band all the same. */
    assert_int_equal(od_pool_stop(scene.pool, HANG_NS, NULL), OD_OK);
    od_queue_async(queue, NULL, OD_BAND_USER_INITIATED, note_band_in_job, &band);
    assert_int_equal(band, OD_BAND_USER_INITIATED);
    od_queue_release(queue);
}

static void sync_and_note_band(void *raw)
{
    od_queue **queues = raw;
    od_stay outer, inner;

    for (int i = 0; i < 2; i++) {
        od_queue_sync_begin(queues[i], &outer);
        scene.order[2 * i] = (char)('0' + od_queue_current_band());
        od_queue_sync_begin(queues[2], &inner);
        scene.order[2 * i + 1] = (char)('0' + od_queue_current_band());
        od_queue_sync_end(&inner);
        od_queue_sync_end(&outer);
    }
}

static void a_sync_is_in_its_queues_band_or_its_callers(void **state)
{
    od_queue *queues[] = {od_queue_create(scene.pool, OD_BAND_USER_INITIATED, 1, "above"),
                          background(1),
                          od_queue_create(scene.pool, OD_BAND_UTILITY, OD_UNLIMITED, "inner")};
    od_queue *middle = od_queue_create(scene.pool, OD_BAND_DEFAULT, 1, "middle");

    (void)state;
    gate_open(&scene.door);
    sync_and_note_band(queues); /* from no job */
    assert_string_equal(scene.order, "1143");
    od_queue_async(middle, NULL, OD_QUEUE_BAND, sync_and_note_band, queues);
    assert_true(od_queue_wait(middle, HANG_NS));
    assert_string_equal(scene.order, "1122");
    assert_int_equal(od_queue_current_band(), -1);
    for (int i = 0; i < 3; i++)
        od_queue_release(queues[i]);
    od_queue_release(middle);
}

/* ---- passes ---- */

static bool has_passes(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool has = odi_lane_has_passes(queue);
    odi_lock_release(&queue->watch.lock);
    return has;
}

/* The last drainer leaves after the last job. */
static bool is_idle(od_queue *queue)
{
    odi_lock_acquire(&queue->watch.lock);
    bool idle = queue->running == 0 && queue->in_line == 0 && !odi_lane_has_passes(queue);
    odi_lock_release(&queue->watch.lock);
    return idle;
}

static void a_pass_that_nobody_needs_goes(void **state)
{
    od_queue *queue = background(1);

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    for (int32_t band = OD_BAND_UTILITY; band >= OD_BAND_USER_INTERACTIVE; band--)
        add(queue, band, 'B');
    odi_lock_acquire(&queue->watch.lock);
    for (int32_t band = OD_BAND_USER_INTERACTIVE; band <= OD_BAND_BACKGROUND; band++)
        assert_int_equal(queue->passes[band], 1); /* one each, for one drainer */
    assert_int_equal(queue->in_line, 1);
    odi_lock_release(&queue->watch.lock);
    gate_open(&scene.door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_comes_true(is_idle(queue));
    assert_string_equal(scene.order, "aBBBB");
    od_queue_release(queue);
}

static uint32_t waiting_in(od_queue *queue, uint32_t *in_line)
{
    odi_lock_acquire(&queue->watch.lock);
    uint32_t waiting = odi_lane_waiting(queue);
    *in_line = queue->in_line;
    odi_lock_release(&queue->watch.lock);
    return waiting;
}

/* Two passes for one drainer, and two workers: whichever comes up second finds nobody in line. */
static void a_pass_that_comes_up_beside_its_drainer_takes_no_second_place(void **state)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_BACKGROUND, 1, "background");
    gate start = {0}, door = {0};
    atomic_ullong ran = 0;
    uint32_t in_line;

    (void)state;
    for (int i = 0; i < 2; i++)
        od_pool_submit(pool, OD_BAND_DEFAULT, gate_job, &start);
    assert_comes_true(atomic_load(&start.waiting) == 2);
    od_queue_async(queue, NULL, OD_QUEUE_BAND, gate_job, &door);
    od_queue_async(queue, NULL, OD_BAND_USER_INTERACTIVE, count_job, &ran);
    gate_open(&start);
    assert_comes_true(atomic_load(&door.waiting) == 1);
    assert_comes_true(!has_passes(queue)); /* whoever came with one has taken what it takes by now */
    assert_int_equal(waiting_in(queue, &in_line), 1);
    assert_int_equal(in_line, 0);
    assert_int_equal(atomic_load(&ran), 0);
    gate_open(&door);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_int_equal(atomic_load(&ran), 1);
    od_queue_release(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

static void a_released_queue_waits_for_its_last_pass(void **state)
{
    od_queue *queue = background(1);
    gate between = {0};

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_BAND_USER_INTERACTIVE, 'B');
    od_pool_submit(scene.pool, OD_BAND_DEFAULT, gate_job, &between);
    od_queue_release(queue);
    gate_open(&scene.door);
    assert_comes_true(atomic_load(&between.waiting) == 1); /* the lower band's pass is behind */
    assert_string_equal(scene.order, "aB");
    odi_lock_acquire(&queue->watch.lock);
    bool over = !queue->released;
    uint32_t passes = queue->passes[OD_BAND_BACKGROUND];
    odi_lock_release(&queue->watch.lock);
    gate_open(&between);
    assert_false(over);
    assert_int_equal(passes, 1); /* the drainer that lined up there found one */
    assert_comes_true(!has_passes(queue)); /* its memory is a queue's for ever */
}

/* ---- waiters for sets of jobs ---- */

static uint32_t lent(void)
{
    return odi_load_relaxed(&scene.pool->crew.lent); /* relaxed: looked at again and again */
}

static void *open_when_something_is_lent(void *unused)
{
    assert_comes_true(lent() != 0);
    gate_open(&scene.door);
    return unused;
}

/* The first thread waits for `group`, or for `queue`. */
static void wait_and_lend(od_group *group, od_queue *queue, int32_t band)
{
    pthread_t opener;

    pthread_create(&opener, NULL, open_when_something_is_lent, NULL);
    if (group == NULL)
        assert_true(od_queue_wait(queue, HANG_NS));
    else
        assert_true(od_group_wait_for(group, queue, band, HANG_NS));
    pthread_join(opener, NULL);
    assert_int_equal(lent(), 0);
}

static void leave_group(void *group)
{
    note((void *)(uintptr_t)'H');
    od_group_leave(group);
}

static void a_group_is_waited_for_in_the_waiters_band(void **state)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    (void)state;
    flood_the_middle();
    od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_order(queue, "B", 1);
    od_group_release(group);
}

static void a_groups_job_in_a_lane_is_waited_for_in_the_waiters_band(void **state)
{
    od_queue *queue = background(1);
    od_group *group = od_group_create();

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    flood_the_middle();
    od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_order(queue, "aB", 2);
    od_group_release(group);
}

static void end_when_asleep(void *thread)
{
    while (odi_thread_sleeps((int)(intptr_t)thread) != 1)
        sched_yield();
}

/* Workers look whether one has, and yield once. */
static void a_lender_that_is_woken_is_told_of_until_it_comes(void **state)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();
    odi_crew *crew = &scene.pool->crew;
    odi_loan next = odi_loan_of(OD_BAND_USER_INTERACTIVE);

    (void)state;
    if (odi_thread_sleeps(odi_thread_id()) < 0)
        skip();
    od_queue_async(queue, group, OD_QUEUE_BAND, end_when_asleep, (void *)(intptr_t)odi_thread_id());
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(odi_load_relaxed(&crew->asides) >> 1 == 1);
    odi_loan_name(&next, crew, OD_BAND_BACKGROUND);
    odi_loan_begin(&next);
    assert_int_equal(odi_load_relaxed(&crew->asides) & 1, 0);
    odi_loan_end(&next);
    od_queue_release(queue);
    od_group_release(group);
}

static void a_queue_is_waited_for_in_the_waiters_band(void **state)
{
    od_queue *queue = background(OD_UNLIMITED);

    (void)state;
    flood_the_middle();
    add(queue, OD_QUEUE_BAND, 'B');
    wait_and_lend(NULL, queue, OD_QUEUE_BAND);
    assert_order(queue, "B", 1);
}

static void *open_when_raised(void *raw)
{
    od_queue *queue = raw;
    bool raised = false;

    while (!raised) {
        odi_clock_sleep(100 * ODI_MICROSECOND);
        odi_lock_acquire(&queue->watch.lock);
        raised = queue->raised != 0;
        odi_lock_release(&queue->watch.lock);
        raised = raised && a_pass_waits();
    }
    odi_clock_sleep(MILLISECONDS(5)); /* what else would be lent is by then */
    scene.lent_when_raised = lent();
    gate_open(&scene.door);
    return NULL;
}

static void a_serial_queue_is_waited_for_in_the_waiters_band(void **state)
{
    od_queue *queue = background(1);
    pthread_t opener;

    (void)state;
    add(queue, OD_QUEUE_BAND, 'a');
    add(queue, OD_QUEUE_BAND, 'b');
    flood_the_middle();
    pthread_create(&opener, NULL, open_when_raised, queue);
    assert_true(od_queue_wait(queue, HANG_NS));
    pthread_join(opener, NULL);
    assert_int_equal(scene.lent_when_raised, 0); /* the lane alone is raised */
    assert_order(queue, "ab", 2);
}

static void what_was_entered_by_hand_is_lent_to_where_it_is_said_to_be(void **state)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    (void)state;
    od_group_enter(group);
    flood_the_middle();
    od_queue_async(queue, NULL, OD_BAND_UTILITY, leave_group, group);
    wait_and_lend(group, queue, OD_BAND_UTILITY);
    assert_order(queue, "H", 1);
    od_group_release(group);
}

static void *wait_in_the_middle(void *group)
{
    return od_group_wait(group, HANG_NS) ? group : NULL;
}

/* A thread that is nobody's is in the middle band, and so is what it waits for. */
static void nothing_is_lent_to_who_has_as_much(void **state)
{
    od_queue *queue = od_queue_create(scene.pool, OD_BAND_DEFAULT, OD_UNLIMITED, "middle");
    od_group *group = od_group_create();
    pthread_t waiter;
    void *waited;

    (void)state;
    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    pthread_create(&waiter, NULL, wait_in_the_middle, group);
    odi_clock_sleep(MILLISECONDS(20));
    assert_int_equal(lent(), 0);
    gate_open(&scene.door);
    pthread_join(waiter, &waited);
    assert_ptr_equal(waited, group);
    od_queue_release(queue);
    od_group_release(group);
}

/* Of two bands that are served alike each has its turns. */
static void a_lent_band_and_the_waiters_own_take_turns(void **state)
{
    enum { OWN = 20, LENT = 4 };
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    (void)state;
    for (int i = 0; i < OWN; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note, (void *)(uintptr_t)'u');
    for (int i = 0; i < LENT; i++)
        od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(atomic_load(&scene.ran) == OWN + LENT);
    assert_memory_equal(scene.order, "uBuBuBuBuuu", 11);
    od_queue_release(queue);
    od_group_release(group);
}

/* Found by reading: of three, the waiter's own got nothing until it was due by the bound. */
static void two_lent_bands_leave_the_waiters_own_its_turns(void **state)
{
    enum { OWN = 10, EACH_LENT = 20 };
    od_queue *utility = od_queue_create(scene.pool, OD_BAND_UTILITY, OD_UNLIMITED, "utility");
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();

    (void)state;
    for (int i = 0; i < EACH_LENT; i++) {
        od_queue_async(utility, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'U');
        od_queue_async(queue, group, OD_QUEUE_BAND, note, (void *)(uintptr_t)'B');
    }
    for (int i = 0; i < OWN; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note, (void *)(uintptr_t)'o');
    wait_and_lend(group, NULL, OD_QUEUE_BAND);
    assert_comes_true(atomic_load(&scene.ran) == OWN + 2 * EACH_LENT);
    assert_in_range(strrchr(scene.order, 'o') - scene.order, OWN, 3 * OWN);
    od_queue_release(utility);
    od_queue_release(queue);
    od_group_release(group);
}

static struct {
    od_pool *pool;
    od_queue *queue;
    gate door;
} other;

static void *free_the_other_pool(void *unused)
{
    assert_comes_true(lent() != 0 && odi_load_relaxed(&other.pool->crew.lent) != 0);
    gate_open(&other.door);
    assert_true(od_queue_wait(other.queue, HANG_NS));
    od_queue_release(other.queue);
    assert_int_equal(od_pool_free(other.pool), OD_OK);
    gate_open(&scene.door);
    return unused;
}

static void a_pool_may_go_while_it_is_lent_to(void **state)
{
    od_queue *queue = background(OD_UNLIMITED);
    od_group *group = od_group_create();
    pthread_t thread;

    (void)state;
    memset(&other, 0, sizeof other);
    other.pool = pool_of(1);
    other.queue = od_queue_create(other.pool, OD_BAND_BACKGROUND, OD_UNLIMITED, "other");
    od_pool_submit(other.pool, OD_BAND_DEFAULT, gate_job, &other.door);
    od_queue_async(other.queue, group, OD_QUEUE_BAND, no_job, NULL);
    od_queue_async(queue, group, OD_QUEUE_BAND, no_job, NULL);
    pthread_create(&thread, NULL, free_the_other_pool, NULL);
    assert_true(od_group_wait(group, HANG_NS));
    pthread_join(thread, NULL);
    assert_int_equal(lent(), 0);
    od_queue_release(queue);
    od_group_release(group);
}

/* ---- the bound ---- */

enum { ABOVE = 1600, BELOW = 5 };
static int positions[ODI_BANDS][BELOW], places[ODI_BANDS], picks;

/* One worker runs them all: nothing here is shared. */
static void note_position(void *band)
{
    int mine = places[(uintptr_t)band]++;

    if (mine < BELOW)
        positions[(uintptr_t)band][mine] = picks;
    picks++;
}

/* A lower band that has work is passed over 255 times, and served at the next pick: one pick of
 * 256 is its, whatever flood is above. Where several are due at once they follow each other. */
static void a_lower_band_has_one_pick_of_256(void **state)
{
    (void)state;
    memset(places, 0, sizeof places);
    picks = 0;
    for (uintptr_t band = OD_BAND_USER_INITIATED; band <= OD_BAND_BACKGROUND; band++) {
        for (int i = 0; i < BELOW; i++)
            od_pool_submit(scene.pool, (od_band)band, note_position, (void *)band);
    }
    for (int i = 0; i < ABOVE; i++)
        od_pool_submit(scene.pool, OD_BAND_USER_INTERACTIVE, note_position, NULL);
    gate_open(&scene.door);
    assert_comes_true(all_done(scene.pool) == 1 + ABOVE + (ODI_BANDS - 1) * BELOW);
    for (int i = 0; i < BELOW; i++) {
        for (int band = OD_BAND_USER_INITIATED; band <= OD_BAND_BACKGROUND; band++)
            assert_int_equal(positions[band][i], (255 + band) * (i + 1) - 1);
    }
}

/* ---- all at once ---- */

enum { THREADS = 3, EACH = 4000, QUEUES = 3 };

static struct {
    od_queue *queues[QUEUES];
    atomic_int inside[QUEUES], ran, overlaps;
} storm;

static void storm_job(void *raw)
{
    uintptr_t which = (uintptr_t)raw;

    if (atomic_fetch_add(&storm.inside[which], 1) >= (int)which + 1) /* widths 1, 2, 3 */
        atomic_fetch_add(&storm.overlaps, 1);
    atomic_fetch_add(&storm.ran, 1);
    atomic_fetch_sub(&storm.inside[which], 1);
}

static void *storm_on(void *raw)
{
    uint32_t random = (uint32_t)(uintptr_t)raw * 2654435761u + 1;
    od_stay stay;

    for (int i = 0; i < EACH; i++) {
        random = random * 1664525u + 1013904223u;
        uintptr_t which = (random >> 8) % QUEUES;

        if ((random >> 16) % 16 == 0) {
            od_queue_sync_begin(storm.queues[which], &stay);
            storm_job((void *)which);
            od_queue_sync_end(&stay);
        } else
            od_queue_async(storm.queues[which], NULL, (int32_t)((random >> 20) % 8) - 1, storm_job,
                           (void *)which);
    }
    return NULL;
}

static void places_stay_exact_and_nothing_is_lost_while_lanes_are_raised(void **state)
{
    od_pool *pool = pool_of(3);
    pthread_t threads[THREADS];

    (void)state;
    memset(&storm, 0, sizeof storm);
    for (int32_t i = 0; i < QUEUES; i++)
        storm.queues[i] = od_queue_create(pool, OD_BAND_BACKGROUND, i + 1, "storm");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm_on, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < QUEUES; i++) {
        assert_true(od_queue_wait(storm.queues[i], HANG_NS));
        assert_comes_true(!has_passes(storm.queues[i]));
        od_queue_release(storm.queues[i]);
    }
    assert_int_equal(atomic_load(&storm.ran), THREADS * EACH);
    assert_int_equal(atomic_load(&storm.overlaps), 0);
    assert_int_equal(od_pool_free(pool), OD_OK);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, hold_the_worker, free_the_pool)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_job_of_a_higher_band_takes_along_what_is_before_it_in_the_lane),
        SCENE(without_one_the_lane_is_served_in_its_own_band),
        SCENE(a_lane_with_several_places_is_raised_too),
        SCENE(a_job_of_a_group_and_a_barrier_raise_too),
        SCENE(a_suspended_lane_is_raised_when_it_goes_on),
        SCENE(what_a_cancel_takes_out_raises_nothing_any_more),
        SCENE(a_sync_caller_takes_along_what_is_before_it),
        SCENE(a_thread_is_in_its_jobs_band_or_in_the_middle),
        SCENE(a_sync_is_in_its_queues_band_or_its_callers),
        SCENE(a_pass_that_nobody_needs_goes),
        cmocka_unit_test(a_pass_that_comes_up_beside_its_drainer_takes_no_second_place),
        SCENE(a_group_is_waited_for_in_the_waiters_band),
        SCENE(a_groups_job_in_a_lane_is_waited_for_in_the_waiters_band),
        SCENE(a_lender_that_is_woken_is_told_of_until_it_comes),
        SCENE(a_queue_is_waited_for_in_the_waiters_band),
        SCENE(a_serial_queue_is_waited_for_in_the_waiters_band),
        SCENE(what_was_entered_by_hand_is_lent_to_where_it_is_said_to_be),
        SCENE(nothing_is_lent_to_who_has_as_much),
        SCENE(what_a_suspension_takes_out_of_a_hand_is_raised_too),
        SCENE(a_lent_band_and_the_waiters_own_take_turns),
        SCENE(two_lent_bands_leave_the_waiters_own_its_turns),
        SCENE(a_pool_may_go_while_it_is_lent_to),
        SCENE(a_lower_band_has_one_pick_of_256),
        SCENE(a_released_queue_waits_for_its_last_pass),
        cmocka_unit_test(places_stay_exact_and_nothing_is_lost_while_lanes_are_raised),
    };

    return run_guarded(tests);
}
