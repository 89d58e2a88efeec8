/* reclaim.c — objects are freed once, after their readers; a drain returns when all are. */
#include "reclaim/reclaim.c"

#include "doubles/clock.h"
#include "doubles/futex.h"
#include "doubles/grace.h"
#include "doubles/thread.h"
#include "model/scenario.h"

typedef struct {
    odi_retired retired;
    int value;
} object;

static odi_atomic(object *) shared;
static odi_atomic(uint32_t) freed;
static unsigned freed_by[MODEL_ROWS];
static int value_read;

static void destroy(odi_retired *retired)
{
    model_free(retired);
    odi_add_relaxed(&freed, 1);
    freed_by[model_thread()]++;
}

static object *make(int value)
{
    object *fresh = model_malloc(sizeof *fresh);

    fresh->value = value;
    return fresh;
}

static void prepare(void)
{
    odi_store_relaxed(&shared, make(1));
    grace_readers = 1u << 0;
}

static void reader(void)
{
    odi_reader_join();
    odi_read_begin();
    object *seen = odi_load_acquire(&shared, none);
    value_read = seen->value;
    model_check(value_read > 0);
    odi_read_end();
}

static void replacer(void)
{
    object *old = odi_swap_acqrel(&shared, make(2), none);

    odi_retire(&old->retired, destroy);
}

static void verify_two(void)
{
    model_check(odi_load_relaxed(&freed) == 2);
    model_check(odi_load_relaxed(&retired_list) == NULL);
}

static void verify_one(void)
{
    model_check(odi_load_relaxed(&freed) == 1);
    model_check(odi_load_relaxed(&retired_list) == NULL);
}

/* One object, one reader, the reclaimer. */
MODEL_SCENARIO(reclaim_one, prepare, verify_one, reader, replacer, model_started_thread)
MODEL_REACHES(reclaim_one, value_read == 1)

/* Two retirements: into the same batch, or the reclaimer's leaving meets the second (R3). */
MODEL_SCENARIO(reclaim_two, prepare, verify_two, reader, replacer, replacer,
               model_started_thread, model_second_started_thread)
MODEL_REACHES(reclaim_two, value_read == 1, odi_load_relaxed(&threads_started) == 2, freed_by[3] == 2)

/* A drain sleeps until what was retired before is freed (R4). */
static void draining_replacer(void)
{
    replacer();
    odi_reclaim_drain();
    model_check(odi_load_relaxed(&freed) == 1);
}
static void prepare_no_reader(void) { prepare(); grace_readers = 0; }
MODEL_SCENARIO(reclaim_drain, prepare_no_reader, verify_one, draining_replacer, model_started_thread)
MODEL_REACHES(reclaim_drain, model_slept(0))

/* No thread is to be had, which is said while the drain goes to sleep: it does it itself (R4). What is retired
 * later waits for the next. */
static void drainer(void) { odi_reclaim_drain(); }
static void prepare_no_thread(void) { prepare_no_reader(); threads_to_be_had = 0; }
static void verify_next_drain(void)
{
    odi_reclaim_drain();
    verify_one();
}
MODEL_SCENARIO(reclaim_no_thread, prepare_no_thread, verify_next_drain, replacer, drainer)
MODEL_REACHES(reclaim_no_thread, freed_by[1] == 1, model_slept(1))
