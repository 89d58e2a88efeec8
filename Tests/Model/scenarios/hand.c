/* hand.c — a drainer claims what it took while others take it back: each job has one taker,
 * and the order stays. */
#include "lane/hand.h"

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
