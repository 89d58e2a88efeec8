/* reclaim.c — deferred freeing: readers register here, retired objects are listed here, and one thread frees
 * them after a grace period. */
#include "reclaim/reclaim.h"

#include <limits.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/invariant.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "reclaim/grace.h"

/* A new reclaimer waits this long before its first grace period, so that one period serves a whole burst of
 * retirements. */
enum { GATHER_NS = 2000000, RECLAIMER_STACK = 256 * 1024 };

/* The list of retired objects, newest first. NULL: empty, no reclaimer runs. `&at_work`: empty, a reclaimer
 * runs. Any other value is a list that ends in one of the two. */
static odi_atomic(odi_retired *) retired_list;
static odi_retired at_work;

/* No thread could be started; the next retirement or drain tries again. */
static odi_atomic(bool) start_failed;

/* Counts freed batches; odi_reclaim_drain sleeps on it. */
static odi_atomic(uint32_t) batches;
static odi_atomic(uint64_t) grace_periods;

/* Objects that are retired and not freed. */
static odi_atomic(uint32_t) outstanding;
enum { MOST_OUTSTANDING = 1024 };

/* Set in a forked child before it has a second thread, so it needs no order. */
static bool out_of_bounds;

static _Thread_local uint32_t joined;

void odi_reader_join(void)
{
    if (joined++ == 0 && !out_of_bounds)
        odi_grace_join();
}

void odi_reader_leave(void)
{
    if (--joined == 0 && !out_of_bounds)
        odi_grace_leave();
}

void odi_read_begin(void)
{
    odi_invariant(joined > 0); /* no grace period waits for an unregistered thread */
    if (ODI_LIKELY(!out_of_bounds))
        odi_grace_read_begin();
}

void odi_read_end(void)
{
    if (ODI_LIKELY(!out_of_bounds))
        odi_grace_read_end();
}

static void destroy_all(odi_retired *batch)
{
    while (batch != NULL && batch != &at_work) {
        odi_retired *next = batch->next;

        batch->destroy(batch);
        odi_add_relaxed(&outstanding, (uint32_t)-1); /* relaxed: a hint */
        batch = next;
    }
}

bool odi_reclaim_is_behind(void)
{
    return out_of_bounds || odi_load_relaxed(&outstanding) >= MOST_OUTSTANDING; /* relaxed: a hint */
}

/* Frees all retired objects until no new object has arrived. The list then states that no reclaimer runs. */
static void reclaim_until_empty(void)
{
    odi_retired *expected;

    do {
        odi_retired *batch = odi_swap_acqrel(&retired_list, &at_work, R1);

        odi_invariant(batch != NULL && batch != &at_work); /* one reclaimer at a time, and only with retired
                                                              objects */
        odi_grace_wait();
        odi_add_relaxed(&grace_periods, 1); /* relaxed: a counter */
        destroy_all(batch);
        expected = &at_work;
        /* R3: a retirement since the swap makes this CAS fail, and the loop frees it. */
    } while (!odi_cas_release(&retired_list, &expected, NULL, R5));

    odi_add_release(&batches, 1, R4);
    odi_futex_wake(&batches, INT_MAX);
}

static void reclaimer(void *unused)
{
    (void)unused;
    odi_clock_sleep(GATHER_NS);
    reclaim_until_empty();
}

static void start_reclaimer(void)
{
    if (odi_thread_start(reclaimer, NULL, RECLAIMER_STACK, "od-reclaim") == 0)
        return;
    odi_store_relaxed(&start_failed, true); /* relaxed: a hint, cleared by a swap */
    odi_add_release(&batches, 1, R4);       /* a sleeping drain then reclaims on its own thread */
    odi_futex_wake(&batches, INT_MAX);
}

void odi_retire(odi_retired *retired, odi_destroy *destroy)
{
    if (out_of_bounds)
        return; /* a forked child never frees it */

    retired->destroy = destroy;
    odi_add_relaxed(&outstanding, 1); /* relaxed: a hint */
    odi_retired *before = odi_load_relaxed(&retired_list); /* relaxed, rechecked by the CAS */
    do {
        retired->next = before;
    } while (!odi_cas_acqrel(&retired_list, &before, retired, R1));

    /* R3: the list had no reclaimer, so this thread must start one. */
    if (before == NULL || odi_swap_relaxed(&start_failed, false))
        start_reclaimer();
}

void odi_reclaim_drain(void)
{
    if (out_of_bounds)
        return;
    for (;;) {
        uint32_t seen = odi_load_acquire(&batches, R4);

        if (odi_load_acquire(&retired_list, R5) == NULL)
            return;
        /* relaxed: the flag decides which thread reclaims and publishes no data */
        if (odi_swap_relaxed(&start_failed, false)) {
            reclaim_until_empty(); /* no thread could start: reclaim on this thread */
            continue;
        }
        odi_futex_wait(&batches, seen, ODI_FOREVER); /* ended by reclaim_until_empty */
    }
}

uint64_t odi_reclaim_grace_periods(void)
{
    return odi_load_relaxed(&grace_periods); /* relaxed: a counter */
}

void odi_reclaim_forked(void)
{
    out_of_bounds = true;
}
