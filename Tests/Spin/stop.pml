/* stop.pml — submit against stop: pool/stop.c, pool/submit.c, worker/run_loop.c.
 *
 * A pool of two workers (WORKERS), one submitter outside, one job that submits another from inside, and
 * a job that may be stuck for ever. The stopper announces STOPPING, waits for the workers to
 * leave until its deadline (which may pass at any moment), announces CANCELLING, gives those
 * between two jobs a moment to leave (which may pass at any moment too), discards what waits,
 * and reports. With FOREVER it has no deadline, and no job is stuck: it waits until the last worker has
 * left, runs what came meanwhile, and what came while it announced CANCELLING.
 *
 * Submissions are buffered stores, as in sleep.pml; flags are read-modify-writes followed by a
 * heavy fence. Waking is left to sleep.pml: workers here look again and again.
 *
 * Checked   - each accepted job ends as exactly one of ran, cancelled, ran on its caller, stuck
 *           - nothing waits anywhere once stop has returned and the submitters are through
 *           - stop returns, under weak fairness, whatever the jobs do; without a deadline only because the
 *             workers leave, and then nothing is cancelled
 */
#ifndef OUTSIDE
#define OUTSIDE 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define INSIDE 1 /* the job with number 0 submits number OUTSIDE */
#define TOTAL (OUTSIDE + INSIDE)

bool STOPPING, CANCELLING, STUCK_FOR_EVER;
bool stopped;

mtype = { NOWHERE, WAITS, RUNS, RAN, CANCELLED, RAN_ON_CALLER };
mtype job[TOTAL] = NOWHERE;
byte executions[TOTAL];

/* The injector holds jobs 0 .. OUTSIDE-1, the deque of the worker that ran job 0 the last. */
bool slots[OUTSIDE], slots_stored[OUTSIDE], claimed[OUTSIDE];
bool in_deque, in_deque_stored;
byte present = WORKERS;
bool finished_submitting;
byte owner = WORKERS; /* of the deque: who ran job 0 */
bool in_job[WORKERS];
byte running[WORKERS];

active proctype buffers()
{
end:
    do
    :: atomic { slots_stored[0] -> slots[0] = true; slots_stored[0] = false }
#if OUTSIDE > 1
    :: atomic { slots_stored[1] -> slots[1] = true; slots_stored[1] = false }
#endif
    :: atomic { in_deque_stored -> in_deque = true; in_deque_stored = false }
    od
}

inline write_out_slots()
{
    slots[0] = slots[0] || slots_stored[0]; slots_stored[0] = false;
#if OUTSIDE > 1
    slots[1] = slots[1] || slots_stored[1]; slots_stored[1] = false;
#endif
}

#ifdef MUTANT_NO_HEAVY
#define fence_heavy() skip
#else
#define fence_heavy() \
    atomic { write_out_slots(); in_deque = in_deque || in_deque_stored; in_deque_stored = false }
#endif

#if OUTSIDE > 1
#define nothing_claimable (!slots[0] || (claimed[0] && (!slots[1] || claimed[1])))
#define any_waits (job[0] == WAITS || job[1] == WAITS || job[OUTSIDE] == WAITS)
#else
#define nothing_claimable (!slots[0] || claimed[0])
#define any_waits (job[0] == WAITS || job[OUTSIDE] == WAITS)
#endif

inline begin(j, as)
{
#ifdef FOREVER
    assert(as != CANCELLED);
#endif
    job[j] = as;
    executions[j]++;
    assert(executions[j] == 1)
}

/* Takes the oldest published slot, or what lies in the deque, which its owner sees before it is written
 * out. A claim goes by ticket order: a slot that is not written yet holds back what came after it. */
inline find(got, who)
{
    if
    :: slots[0] && !claimed[0] -> claimed[0] = true; got = 0
#if OUTSIDE > 1
    :: claimed[0] && slots[1] && !claimed[1] -> claimed[1] = true; got = 1
#endif
    :: in_deque || (in_deque_stored && owner == who) ->
        in_deque = false; in_deque_stored = false; got = OUTSIDE
    :: else -> got = TOTAL
    fi
}

proctype worker(byte w)
{
    byte got;
    bool cancelling, stopping;

    do
    :: true ->
        atomic { stopping = STOPPING; cancelling = CANCELLING };
        if
        :: cancelling -> break
        :: else
        fi;
        atomic {
            find(got, w);
            if
            :: got < TOTAL -> running[w] = got; in_job[w] = true; begin(got, RUNS)
            :: else
            fi
        };
        if
        :: got < TOTAL ->
            if
            :: got == 0 -> /* submit_inside */
                owner = w;
                if
                :: atomic { CANCELLING -> begin(OUTSIDE, RAN_ON_CALLER) }
                :: atomic { !CANCELLING -> job[OUTSIDE] = WAITS };
                    in_deque_stored = true
                fi
            :: got == 1 -> /* this one may never end */
#ifndef FOREVER
                if
                :: true
                :: STUCK_FOR_EVER = true;
end_stuck:          false
                fi
#else
                skip
#endif
            :: else
            fi;
            atomic { job[got] = RAN; in_job[w] = false; got = TOTAL }
        :: else ->
            if
#ifndef MUTANT_STAYS
            :: stopping -> break /* found nothing, and had seen STOPPING before the look */
#endif
            :: else
            fi
        fi
    od;
#ifndef MUTANT_LEAVES_JOBS
    atomic { /* retire: discard_own. It sees its own buffer. */
        if
        :: owner == w && (in_deque || in_deque_stored) ->
            in_deque = false; in_deque_stored = false; begin(OUTSIDE, CANCELLED)
        :: else
        fi
    };
#endif
    atomic {
#ifdef MUTANT_LEAVES_UNCOUNTED
        if
        :: w > 0 -> present--
        :: else
        fi;
#else
        present--;
#endif
        in_deque = in_deque || in_deque_stored; in_deque_stored = false
    }
}

/* What waits, run by a thread that is no worker, one by one; and so is what job 0 submits there. */
inline help()
{
    do
    :: atomic { slots[0] && !claimed[0] -> claimed[0] = true; begin(0, RAN_ON_CALLER) };
        if
        :: job[OUTSIDE] == NOWHERE -> atomic { begin(OUTSIDE, RAN_ON_CALLER) }
        :: else
        fi
#if OUTSIDE > 1
    :: atomic { claimed[0] && slots[1] && !claimed[1] -> claimed[1] = true; begin(1, RAN_ON_CALLER) }
#endif
    :: atomic { nothing_claimable -> break }
    od
}

/* odi_pool_submit from a thread that is no worker. */
active proctype submitter()
{
    byte ticket, got;
    bool stopping;

    do
    :: ticket < OUTSIDE ->
        atomic { job[ticket] = WAITS; slots_stored[ticket] = true };
        stopping = STOPPING; /* publish: a light fence, then a look at attention */
        if
#ifndef MUTANT_NO_HELP
        :: stopping -> /* help: run what waits, here */
            atomic { write_out_slots() }; /* its own buffer is its own to read */
            help()
#endif
        :: else
        fi;
        ticket++
    :: else -> break
    od;
    finished_submitting = true
}

inline discard_one()
{
    /* claims and steals, like anyone */
    find(discarded, 255);
    if
    :: discarded < TOTAL -> begin(discarded, CANCELLED)
    :: else
    fi
}

active proctype stopper()
{
    byte discarded;

    STOPPING = true;
#ifndef NO_HEAVY_STOPPING /* holds all the same: the second announcement's fence makes up for it */
    fence_heavy();
#endif
#ifdef FOREVER
    present == 0; /* await_departures */
    help();       /* close_if_empty: no worker is to be had, so nobody has come meanwhile */
    CANCELLING = true;
    fence_heavy();
#else
    if
    :: present == 0
    :: true /* the deadline */
    fi;
    CANCELLING = true;
    fence_heavy();
    if
    :: present == 0
    :: true /* all that are left are in a job, or the grace is over */
    fi;
    do
    :: atomic {
        discard_one();
        if
        :: discarded == TOTAL -> discarded = 0; break
        :: else -> discarded = 0
        fi
    }
    od;
#endif
returned:
    stopped = true
}

#define left_is_stuck(w) (!in_job[w] || running[w] == 1)
#if WORKERS > 2
#define in_jobs (in_job[0] + in_job[1] + in_job[2])
#define stuck_are_left (left_is_stuck(0) && left_is_stuck(1) && left_is_stuck(2))
init { atomic { run worker(0); run worker(1); run worker(2) } }
#else
#define in_jobs (in_job[0] + in_job[1])
#define stuck_are_left (left_is_stuck(0) && left_is_stuck(1))
init { atomic { run worker(0); run worker(1) } }
#endif

active proctype watch()
{
end:
    atomic {
        stopped && finished_submitting && any_waits && present == in_jobs && stuck_are_left &&
            (in_jobs == 0 || STUCK_FOR_EVER) -> /* who is left is stuck */
        assert(false) /* accepted, and neither run nor cancelled */
    }
}

#ifdef LIVENESS
ltl stop_returns { <> stopped }
#endif
