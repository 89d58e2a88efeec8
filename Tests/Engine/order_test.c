/* The order in which work from outside starts: exact with one worker; with two, what is
 * overtaken is at most one batch. Counted, never timed. */
#include "Support/pools.h"
#include "Support/watchdog.h"

#include "queue/deque.h"

enum { ENTRIES = 1000000, ENTRIES_SANITIZED = 100000 };

/* order[n] is the entry that started as the n-th. */
static struct {
    uint32_t *order;
    atomic_uint started;
    uint32_t entries;
} journal;

static void start(void *raw)
{
    journal.order[atomic_fetch_add_explicit(&journal.started, 1, memory_order_relaxed)] =
        (uint32_t)(uintptr_t)raw;
}

static void submit_all(od_pool *pool, od_queue *queue)
{
    journal.entries = UNLESS_SANITIZED(ENTRIES, ENTRIES_SANITIZED);
    journal.order = malloc(journal.entries * sizeof *journal.order);
    assert_non_null(journal.order);
    atomic_store(&journal.started, 0);
    for (uint32_t i = 0; i < journal.entries; i++) {
        if (queue != NULL)
            od_queue_async(queue, NULL, OD_QUEUE_BAND, start, (void *)(uintptr_t)i);
        else
            od_pool_submit(pool, OD_BAND_DEFAULT, start, (void *)(uintptr_t)i);
    }
    assert_comes_true(all_done(pool) == journal.entries);
    assert_int_equal(atomic_load(&journal.started), journal.entries);
}

TEST(with_one_worker_the_order_is_exact)
{
    for (int round = 0; round < 2; round++) {
        od_pool *pool = pool_without_spares(1); /* one would begin the next behind a worker that loses its CPU for long */
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "order");

        submit_all(pool, round ? queue : NULL);
        for (uint32_t i = 0; i < journal.entries; i++)
            assert_int_equal(journal.order[i], i);
        free(journal.order);
        end_pool(pool, queue);
    }
}

/* The most entries that were still to start when a later one did. `below` counts, as a binary
 * indexed tree, the entries that have started. */
static uint32_t most_overtaken(void)
{
    uint32_t *below = calloc(journal.entries + 1, sizeof *below), most = 0;

    assert_non_null(below);
    for (uint32_t n = 0; n < journal.entries; n++) {
        uint32_t entry = journal.order[n], earlier = 0;

        for (uint32_t i = entry; i > 0; i &= i - 1)
            earlier += below[i];
        if (entry - earlier > most)
            most = entry - earlier;
        for (uint32_t i = entry + 1; i <= journal.entries; i += i & (~i + 1))
            below[i]++;
    }
    free(below);
    return most;
}

TEST(with_two_workers_at_most_one_batch_is_overtaken)
{
    for (int round = 0; round < 3; round++) {
        od_pool *pool = pool_without_spares(2);

        submit_all(pool, NULL);
        assert_in_range(most_overtaken(), 0, ODI_STEAL_BATCH);
        free(journal.order);
        od_pool_free(pool);
    }
}

GUARDED_PROGRAM
