/* drain_batch.c — a drainer claims what it took while others take it back: each job has one taker,
 * and the order stays.
 *
 * In batch_filled_again the drainer of a wide line comes back under the lock and takes the next
 * ones into the same drain batch, while another drainer takes back and runs what it finds. In
 * batch_taken_back_from_inside a job of the drainer's own does, beside another thread.
 */
#include "doubles/lock.h"

#include "gate/drain_batch.h"

#include "model/scenario.h"

enum { JOBS = 3 };

static odi_drain_batch batch;
static odi_lock lock;
static int by_drainer[JOBS + 1], by_others[JOBS + 1]; /* [job]: jobs are 1 to JOBS */
static bool called_back; /* the drainer has gone without the last of them */

/* The owner asks again, under the lock, what it found true; and stores no further claim before it knows. */
static void prepared(void)
{
    model_hint(&batch.called_back, sizeof batch.called_back);
    odi_drain_batch_clear(&batch);
}

static void filled(void)
{
    prepared();
    for (int job = 1; job <= JOBS; job++)
        batch.entries[batch.end++] = (odi_entry){(uint64_t)job, 0};
    odi_drain_batch_offer(&batch);
}

static int claimed(void) /* 0: nothing */
{
    odi_entry job;

    if (!odi_drain_batch_claim(&batch, &lock, &job))
        return 0;
    by_drainer[job.code]++;
    return (int)job.code;
}

static void drainer(void)
{
    int job, before = 0;

    for (; (job = claimed()) != 0; before = job)
        model_check(job == before + 1);
    called_back = before < JOBS;
}

static void pop_all(void)
{
    odi_entry job;

    for (int before = 0; odi_drain_batch_pop(&batch, &job); before = (int)job.code) {
        model_check(before == 0 || (int)job.code == before + 1);
        by_others[job.code]++;
    }
}

/* Whoever suspends and resumes, or widens. */
static void changer(void)
{
    odi_lock_acquire(&lock);
    for (int twice = 0; twice < 2; twice++)
        odi_drain_batch_take_back(&batch, false);
    model_check(odi_drain_batch_offered(&batch) == 0);
    pop_all();
    odi_lock_release(&lock);
}

static void each_once(void)
{
    for (int job = 1; job <= JOBS; job++)
        model_check(by_drainer[job] + by_others[job] == 1);
}

MODEL_SCENARIO(batch_taken_back, filled, each_once, drainer, changer)
MODEL_REACHES(batch_taken_back, by_others[1] == 1, by_drainer[1] == 1 && by_others[2] == 1 && called_back,
              by_drainer[JOBS] == 1)

/* ---- by a job of the drainer's ---- */

static void suspends_itself(void)
{
    if (claimed() == 0)
        return;
    odi_lock_acquire(&lock);
    odi_drain_batch_take_back(&batch, true);
    odi_lock_release(&lock);
    model_check(claimed() == 0);
}

static void each_once_though_suspended(void)
{
    pop_all();
    each_once();
    model_check(by_others[2] == 1);
}

MODEL_SCENARIO(batch_taken_back_from_inside, filled, each_once_though_suspended, suspends_itself, changer)
MODEL_REACHES(batch_taken_back_from_inside, by_drainer[1] == 1)

/* ---- again and again ---- */

enum { EACH = 2, FILLS = 2 };

static int line; /* the newest job that has left it; under the lock */
static bool found_one; /* who runs dry what the drainer has filled */

static void empty(void) { prepared(); line = 0; }

static void drains_twice(void)
{
    for (int fills = 0; fills < FILLS; fills++) {
        odi_lock_acquire(&lock);
        if (odi_drain_batch_count(&batch) == 0) {
            odi_drain_batch_clear(&batch);
            for (int each = 0; each < EACH && line < JOBS; each++)
                batch.entries[batch.end++] = (odi_entry){(uint64_t)++line, 0};
        }
        odi_drain_batch_offer(&batch);
        odi_lock_release(&lock);
        while (claimed() != 0)
            ;
    }
}

static void runs_dry(void)
{
    odi_entry job;

    for (int twice = 0; twice < 2; twice++) {
        odi_lock_acquire(&lock);
        odi_drain_batch_take_back(&batch, false);
        if (odi_drain_batch_pop(&batch, &job)) {
            by_others[job.code]++;
            found_one = true;
        }
        odi_lock_release(&lock);
    }
}

static void each_once_or_left(void)
{
    odi_drain_batch_take_back(&batch, false);
    pop_all();
    for (; line < JOBS; by_others[line]++)
        line++;
    each_once();
}

MODEL_SCENARIO(batch_filled_again, empty, each_once_or_left, drains_twice, runs_dry)
MODEL_REACHES(batch_filled_again, by_drainer[JOBS] == 1, found_one)
