/* drain_batch.c — a drainer claims what it took while others take it back: each job has one taker,
 * and the order stays.
 *
 * In batch_filled_again the drainer of a wide line comes back under the lock and takes the next
 * ones into the same drain batch, while another drainer takes back and runs what it finds.
 */
#include "doubles/lock.h"

#include "gate/drain_batch.h"

#include "model/scenario.h"

enum { JOBS = 3 };

static odi_drain_batch batch;
static int32_t end;
static int by_drainer[JOBS + 1], by_others[JOBS + 1]; /* [job]: jobs are 1 to JOBS */

/* A read-modify-write that reads a store behind its own is none; the search for load buffering
 * does not know that. */
static void filled(void)
{
    model_hint(&batch.left, sizeof batch.left);
    batch.next = batch.end = 0;
    for (int job = 1; job <= JOBS; job++)
        batch.entries[batch.end++] = (odi_entry){(uint64_t)job, 0};
    end = odi_drain_batch_offer(&batch);
}

static void drainer(void)
{
    odi_entry job;
    int before = 0;

    while (odi_drain_batch_claim(&batch, end, &job)) {
        model_check((int)job.code == before + 1);
        before = (int)job.code;
        by_drainer[job.code]++;
    }
}

/* Whoever suspends and resumes, or widens; it holds the queue's lock, so it is one thread. */
static void changer(void)
{
    odi_entry job;

    for (int twice = 0; twice < 2; twice++)
        odi_drain_batch_take_back(&batch);
    for (int before = 0; odi_drain_batch_pop(&batch, &job); before = (int)job.code) {
        model_check(before == 0 || (int)job.code == before + 1);
        by_others[job.code]++;
    }
}

static void each_once(void)
{
    for (int job = 1; job <= JOBS; job++)
        model_check(by_drainer[job] + by_others[job] == 1);
}

MODEL_SCENARIO(batch_taken_back, filled, each_once, drainer, changer)

/* ---- again and again ---- */

enum { EACH = 2, FILLS = 2 };

static odi_lock lock;
static int line; /* the newest job that has left it; under the lock */

static void empty(void)
{
    model_hint(&batch.left, sizeof batch.left);
    odi_store_relaxed(&batch.left, 0);
    batch.next = batch.end = 0;
    line = 0;
}

static void drains_twice(void)
{
    odi_entry job;

    for (int fills = 0; fills < FILLS; fills++) {
        odi_lock_acquire(&lock);
        if (odi_drain_batch_count(&batch) == 0) {
            batch.next = batch.end = 0;
            for (int each = 0; each < EACH && line < JOBS; each++)
                batch.entries[batch.end++] = (odi_entry){(uint64_t)++line, 0};
        }
        end = odi_drain_batch_offer(&batch);
        odi_lock_release(&lock);
        while (odi_drain_batch_claim(&batch, end, &job))
            by_drainer[job.code]++;
    }
}

static void runs_dry(void)
{
    odi_entry job;

    for (int twice = 0; twice < 2; twice++) {
        odi_lock_acquire(&lock);
        odi_drain_batch_take_back(&batch);
        if (odi_drain_batch_pop(&batch, &job))
            by_others[job.code]++;
        odi_lock_release(&lock);
    }
}

static void each_once_or_left(void)
{
    odi_entry job;

    odi_drain_batch_take_back(&batch);
    while (odi_drain_batch_pop(&batch, &job))
        by_others[job.code]++;
    for (; line < JOBS; by_others[line]++)
        line++;
    each_once();
}

MODEL_SCENARIO(batch_filled_again, empty, each_once_or_left, drains_twice, runs_dry)
