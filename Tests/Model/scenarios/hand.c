/* hand.c — a drainer claims what it took while others take it back: each job has one taker,
 * and the order stays.
 *
 * In hand_filled_again the drainer of a wide lane comes back under the lock and takes the next
 * ones into the same hand, while another drainer takes back and runs what it finds.
 */
#define ODI_LOCK_SPINS 0

#include "lane/hand.h"
#include "sleep/lock.c"

#include "doubles/futex.h"
#include "model/scenario.h"

enum { JOBS = 3 };

static odi_hand hand;
static int32_t end;
static int by_drainer[JOBS + 1], by_others[JOBS + 1]; /* [job]: jobs are 1 to JOBS */

/* A read-modify-write that reads a store behind its own is none; the search for load buffering
 * does not know that. */
static void filled(void)
{
    model_hint(&hand.left, sizeof hand.left);
    hand.next = hand.end = 0;
    for (int job = 1; job <= JOBS; job++)
        hand.entries[hand.end++] = (odi_entry){(uint64_t)job, 0};
    end = odi_hand_offer(&hand);
}

static void drainer(void)
{
    odi_entry job;
    int before = 0;

    while (odi_hand_claim(&hand, end, &job)) {
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
        odi_hand_take_back(&hand);
    for (int before = 0; odi_hand_pop(&hand, &job); before = (int)job.code) {
        model_check(before == 0 || (int)job.code == before + 1);
        by_others[job.code]++;
    }
}

static void each_once(void)
{
    for (int job = 1; job <= JOBS; job++)
        model_check(by_drainer[job] + by_others[job] == 1);
}

MODEL_SCENARIO(hand_taken_back, filled, each_once, drainer, changer)

/* ---- again and again ---- */

enum { EACH = 2, FILLS = 2 };

static odi_lock lock;
static int lane; /* the newest job that has left it; under the lock */

static void empty(void)
{
    model_hint(&hand.left, sizeof hand.left);
    odi_store_relaxed(&hand.left, 0);
    hand.next = hand.end = 0;
    lane = 0;
}

static void drains_twice(void)
{
    odi_entry job;

    for (int fills = 0; fills < FILLS; fills++) {
        odi_lock_acquire(&lock);
        if (odi_hand_count(&hand) == 0) {
            hand.next = hand.end = 0;
            for (int each = 0; each < EACH && lane < JOBS; each++)
                hand.entries[hand.end++] = (odi_entry){(uint64_t)++lane, 0};
        }
        end = odi_hand_offer(&hand);
        odi_lock_release(&lock);
        while (odi_hand_claim(&hand, end, &job))
            by_drainer[job.code]++;
    }
}

static void runs_dry(void)
{
    odi_entry job;

    for (int twice = 0; twice < 2; twice++) {
        odi_lock_acquire(&lock);
        odi_hand_take_back(&hand);
        if (odi_hand_pop(&hand, &job))
            by_others[job.code]++;
        odi_lock_release(&lock);
    }
}

static void each_once_or_left(void)
{
    odi_entry job;

    odi_hand_take_back(&hand);
    while (odi_hand_pop(&hand, &job))
        by_others[job.code]++;
    for (; lane < JOBS; by_others[lane]++)
        lane++;
    each_once();
}

MODEL_SCENARIO(hand_filled_again, empty, each_once_or_left, drains_twice, runs_dry)
