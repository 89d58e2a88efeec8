/* job/registry: who is there, places that are used again, and threads that come, go and look. */
#include "Support/clock.h"
#include "Support/prng.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watchdog.h"

#include <malloc.h>
#include <stdlib.h>

#include "include/od_registry.h"

enum { MANY = 20000 };

typedef struct {
    _Alignas(128) int number;
    uint64_t place;
    atomic_int seen;
} object;

static void note(void *context, void *raw)
{
    object *it = raw;

    (*(size_t *)context)++;
    atomic_fetch_add(&it->seen, 1);
}

static size_t look(od_registry *registry)
{
    size_t seen = 0;

    od_registry_each(registry, note, &seen);
    return seen;
}

static struct {
    od_registry *registry;
    object objects[16];
    uint64_t places[16];
    atomic_bool over;
} forked;

static void *change_it_all_the_time(void *raw)
{
    size_t mine = (size_t)(uintptr_t)raw;

    while (!atomic_load(&forked.over))
        (void)od_registry_remove(forked.registry, od_registry_add(forked.registry, &forked.objects[mine]));
    return NULL;
}

static void use_it_in_the_child(void *unused)
{
    uint64_t places[16];

    child_expects(od_registry_is_empty(forked.registry));
    for (size_t i = 2; i < 16; i++)
        child_expects(od_registry_remove(forked.registry, forked.places[i])); /* the parent's place */
    for (size_t i = 0; i < 16; i++)
        places[i] = od_registry_add(forked.registry, &forked.objects[i]);
    child_expects(od_registry_count(forked.registry) == 16);
    for (size_t i = 0; i < 16; i++)
        (void)od_registry_remove(forked.registry, places[i]);
    child_expects(od_registry_is_empty(forked.registry));
}

TEST(a_childs_registry_is_empty_and_free_whatever_the_parents_threads_did)
{
    pthread_t threads[2];

    forked.registry = od_registry_create();
    for (size_t i = 2; i < 16; i++)
        forked.places[i] = od_registry_add(forked.registry, &forked.objects[i]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_it_all_the_time, (void *)(uintptr_t)i), 0);
    for (int i = 0; i < 50; i++)
        assert_child_succeeds(use_it_in_the_child, NULL);
    atomic_store(&forked.over, true);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(od_registry_count(forked.registry), 14);
    od_registry_release(forked.registry);
}

TEST(who_came_is_there_until_it_goes)
{
    od_registry *registry = od_registry_create();
    object *objects = aligned_alloc(128, MANY * sizeof *objects);
    bool may_be_empty = false;
    size_t empty = mallinfo2().uordblks;

    assert_int_equal(od_registry_count(registry), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            atomic_init(&objects[i].seen, 0);
            objects[i].place = od_registry_add(registry, &objects[i]);
            assert_true(objects[i].place != 0);
        }
        assert_int_equal(od_registry_count(registry), MANY);
        for (int i = 0; i < MANY; i += 2)
            (void)od_registry_remove(registry, objects[i].place);
        assert_int_equal(look(registry), MANY / 2);
        for (int i = 0; i < MANY; i++)
            assert_int_equal(atomic_load(&objects[i].seen), i % 2);
        for (int i = 1; i < MANY; i += 2)
            may_be_empty = od_registry_remove(registry, objects[i].place);
        assert_true(may_be_empty);
        assert_int_equal(look(registry), 0);
        assert_true(mallinfo2().uordblks < empty + MANY); /* the tables have gone */
    }
    od_registry_release(registry);
    free(objects);
}

TEST(a_place_is_used_again)
{
    od_registry *registry = od_registry_create();
    object *objects = aligned_alloc(128, 3 * sizeof *objects);
    uint64_t first;

    first = od_registry_add(registry, &objects[0]);
    for (int i = 0; i < MANY; i++) {
        assert_true(od_registry_remove(registry, first));
        assert_int_equal(od_registry_add(registry, &objects[0]), first);
    }
    assert_true(od_registry_add(registry, &objects[0]) != first);
    assert_int_equal(od_registry_count(registry), 2);
    od_registry_release(registry);
    free(objects);
}

enum { THREADS = 4, OWN = 64, STEPS = UNLESS_SANITIZED(100000, 50000) };

static struct {
    od_registry *registry;
    object *objects; /* OWN of each thread's; `number` says whether it is there */
    atomic_int going;
    pthread_barrier_t start;
} crowd;

/* Whoever is seen is readable, and not gone before the visit is over. */
static void touch(void *context, void *raw)
{
    object *it = raw;

    if (it->number != 1)
        abort();
    atomic_fetch_add_explicit(&it->seen, 1, memory_order_relaxed); /* relaxed: a count */
}

static void *come_and_go(void *raw)
{
    int self = (int)(intptr_t)raw;
    object *own = &crowd.objects[self * OWN];
    prng random = prng_for(1, (uint64_t)self);

    pthread_barrier_wait(&crowd.start);
    for (int step = 0; step < STEPS; step++) {
        object *it = &own[prng_below(&random, OWN)];

        if (it->place == 0) {
            it->number = 1;
            it->place = od_registry_add(crowd.registry, it);
            if (it->place == 0)
                abort();
        } else {
            (void)od_registry_remove(crowd.registry, it->place);
            it->place = 0;
            it->number = 0; /* nobody visits it any more */
        }
    }
    for (int i = 0; i < OWN; i++)
        if (own[i].place != 0)
            (void)od_registry_remove(crowd.registry, own[i].place);
    atomic_fetch_sub(&crowd.going, 1);
    return NULL;
}

TEST(threads_come_go_and_look)
{
    pthread_t threads[THREADS];

    crowd.registry = od_registry_create();
    crowd.objects = aligned_alloc(128, THREADS * OWN * sizeof *crowd.objects);
    for (int i = 0; i < THREADS * OWN; i++) {
        crowd.objects[i].number = 0;
        crowd.objects[i].place = 0;
        atomic_init(&crowd.objects[i].seen, 0);
    }
    atomic_store(&crowd.going, THREADS);
    pthread_barrier_init(&crowd.start, NULL, THREADS);
    start_threads(threads, THREADS, come_and_go);
    for (int look = 0; atomic_load(&crowd.going) > 0; look++) {
        od_registry_each(crowd.registry, touch, NULL);
        assert_true(od_registry_count(crowd.registry) <= THREADS * OWN);
        yield_now_and_then(look);
    }
    join_threads(threads, THREADS);
    assert_int_equal(od_registry_count(crowd.registry), 0);
    pthread_barrier_destroy(&crowd.start);
    od_registry_release(crowd.registry);
    free(crowd.objects);
}

enum { RELAY = 64, LOOKS = UNLESS_SANITIZED(200000, 50000) };

static atomic_bool relay_is_over;

static void *bring_the_next(void *raw)
{
    uint64_t place = *(uint64_t *)raw;
    prng random = prng_for(2, 0);

    for (int turn = 0; !atomic_load(&relay_is_over); turn++) {
        uint64_t next = od_registry_add(crowd.registry, &crowd.objects[prng_below(&random, RELAY)]);

        (void)od_registry_remove(crowd.registry, place);
        place = next;
        yield_now_and_then(turn);
    }
    (void)od_registry_remove(crowd.registry, place);
    return NULL;
}

/* Counted one shard after another it was empty now and then, and a waiter woke too early. */
TEST(never_empty_while_one_brings_the_next)
{
    pthread_t thread;
    uint64_t first;

    crowd.registry = od_registry_create();
    crowd.objects = aligned_alloc(128, RELAY * sizeof *crowd.objects);
    assert_true(od_registry_is_empty(crowd.registry));
    first = od_registry_add(crowd.registry, &crowd.objects[0]);
    pthread_create(&thread, NULL, bring_the_next, &first);
    for (int i = 0; i < LOOKS; i++) {
        if (od_registry_is_empty(crowd.registry))
            fail_msg("empty at look %d", i);
        yield_now_and_then(i);
    }
    atomic_store(&relay_is_over, true);
    pthread_join(thread, NULL);
    assert_true(od_registry_is_empty(crowd.registry));
    od_registry_release(crowd.registry);
    free(crowd.objects);
}

GUARDED_PROGRAM
