/* sleep.pml — how idleness begins and ends: sleep/idle.c under worker/run_loop.c, as states.
 *
 * Three workers and a submitter from outside. The names are the code's: the idle word with its
 * token (NONE, FLYING, HELD), sleepers and an epoch that rolls over; WORKING, SEARCHING,
 * ANNOUNCED, ASLEEP; announce, wait, leave, found, signal, publish.
 *
 * Store buffers are explicit. What a thread publishes (a slot's code word, a deque's bottom,
 * a worker's hint) lies in its buffer until the machine writes it out, in any order, or until
 * its own full fence, a successful compare-and-swap, or somebody's heavy fence does. A light
 * fence does nothing, unless REFUSED says that the kernel has no membarrier: then the light
 * and the heavy fence are both full fences of their own thread. Read-modify-writes act on
 * memory at once; a failed one is a plain load.
 *
 * Left out: more than one site and band, starting and benching workers, the monitor. What
 * holds then is checked by the explorer and the stress tests.
 *
 *   OUTSIDE   jobs that the submitter brings           INSIDE    jobs that the first one brings
 *   BATCH     the most that one claim takes            TOGETHER  each body waits for all to
 *                                                      have started: nobody may sleep meanwhile
 *
 * Checked   - STRANDED never: a job waits, everybody sleeps, nobody is about to wake them
 *           - the token is neither lost nor doubled, the sleepers are counted
 *           - no end but with all jobs done (with TOGETHER: no job waits beside a sleeper)
 *           - all_run: each job is run some day, under weak fairness
 */
#ifndef OUTSIDE
#define OUTSIDE 2
#endif
#ifndef INSIDE
#define INSIDE 1
#endif
#ifndef BATCH
#define BATCH 1
#endif
#define WORKERS 3
#define TOTAL (OUTSIDE + INSIDE)

/* word = token (2 bits) | sleepers (2 bits) | epoch (4 bits, not far from rolling over) */
#ifdef MUTANT_NARROW_EPOCH
#define EPOCH_MASK 1
#else
#define EPOCH_MASK 15
#endif
#define SLEEPER 16
#define SLEEPERS 48
#define FLYING 64
#define HELD 128
#define TOKEN 192
byte word = 14 & EPOCH_MASK;

#define token_of(s) ((s) & TOKEN)
#define epoch_of(s) ((s) & EPOCH_MASK)
#define with_next_epoch(s) (((s) & (TOKEN | SLEEPERS)) | (((s) + 1) & EPOCH_MASK))
#define without_token(s) ((s) & (SLEEPERS | EPOCH_MASK))

mtype = { WORKING, SEARCHING, ANNOUNCED, ASLEEP };
mtype state[WORKERS] = WORKING;
bool searching[WORKERS];
bool awaited[WORKERS]; /* in the kernel, on the futex */

/* The injector: tickets are claimed by a CAS on tail, a slot is published by its code word. */
byte tail, head, tail_stored;
byte slots;         /* bit t: the code word of ticket t, in memory */
byte slots_stored;  /* the same, still in the submitter's buffer */
#ifdef HINTS
bool band; /* the site's hint; without HINTS, all hints are always set */
#else
#define band true
#endif

/* The workers' deques: bottom as the owner knows it, and as memory does. */
byte top[WORKERS], bottom[WORKERS], bottom_stored[WORKERS];

byte started;       /* jobs that have been begun, each once */
bool submitting;    /* the submitter is between its push and the end of publish */
bool spawned;

#define steals(w, v) \
    sweeping && v != w && top[v] < bottom[v] -> top[v]++; found_one = true
#define claimable (head < tail && (slots & (1 << head)))
#define size_of(v) (bottom[v] - top[v])
#define waiting (tail_stored - head + (bottom_stored[0] - top[0]) + (bottom_stored[1] - top[1]) + \
                 (bottom_stored[2] - top[2]))
#define STRANDED (awaited[0] && awaited[1] && awaited[2] && !submitting && waiting > 0)

/* ---- store buffers ---- */

#define SUBMITTER WORKERS

inline write_out(who)
{
    if
    :: who == SUBMITTER -> tail = tail_stored; slots = slots | slots_stored; slots_stored = 0
    :: else -> bottom[who] = bottom_stored[who]
    fi
}

#if defined(REFUSED) && !defined(MUTANT_LIGHT_STAYS_LIGHT)
#define fence_light(who) atomic { write_out(who) }
#else
#define fence_light(who) skip
#endif

#ifdef MUTANT_NO_HEAVY
#define fence_heavy(who) skip
#elif defined(REFUSED)
#define fence_heavy(who) atomic { write_out(who) }
#else
#define fence_heavy(who) \
    atomic { write_out(0); write_out(1); write_out(2); write_out(SUBMITTER) }
#endif

/* The machine writes buffers out when it likes, one word at a time. */
active proctype buffers()
{
    byte i;

end:
    do
    :: atomic { tail < tail_stored -> tail++ }
    :: atomic { (slots_stored & 1) && tail > 0 -> slots = slots | 1; slots_stored = slots_stored & 6 }
    :: atomic { (slots_stored & 2) && tail > 1 -> slots = slots | 2; slots_stored = slots_stored & 5 }
    :: atomic { (slots_stored & 4) && tail > 2 -> slots = slots | 4; slots_stored = slots_stored & 3 }
    :: atomic { bottom[0] != bottom_stored[0] -> bottom[0] = bottom_stored[0] }
    :: atomic { bottom[1] != bottom_stored[1] -> bottom[1] = bottom_stored[1] }
    :: atomic { bottom[2] != bottom_stored[2] -> bottom[2] = bottom_stored[2] }
    od
}

/* ---- sleep/idle.c ---- */

/* Wakes any of those in the kernel; the code prefers one by name, which is a hint. */
inline wake_one()
{
    atomic {
        if
        :: awaited[0] -> awaited[0] = false
        :: awaited[1] -> awaited[1] = false
        :: awaited[2] -> awaited[2] = false
        :: else /* the sleeper is still on its way: the epoch turns it back */
        fi
    }
}

/* The fence and the load behind it are one step: the buffers may well be empty long before. */
inline signal(who)
{
    seen = word; /* relaxed */
    do
    :: atomic {
        token_of(seen) ->
#ifdef MUTANT_RELAXED_FAILED_CAS
            if
            :: !failed -> write_out(who)
            :: else
            fi;
#elif !defined(MUTANT_NO_FENCE_IN_SIGNAL)
            write_out(who); /* S2's fence */
#endif
            seen = word;
            if
            :: token_of(seen) -> break /* COVERED */
            :: else
            fi
        }
    :: atomic { !token_of(seen) && !(seen & SLEEPERS) -> break /* NOBODY */ }
    :: atomic {
        !token_of(seen) && (seen & SLEEPERS) ->
            if
            :: word == seen ->
                write_out(who); /* a success releases: whoever reads the word sees the work */
#ifdef MUTANT_SAME_EPOCH
                word = seen | FLYING;
#else
                word = with_next_epoch(seen) | FLYING;
#endif
                woke = true;
                break
            :: else ->
                seen = word; /* a failure is a relaxed load */
#ifdef MUTANT_RELAXED_FAILED_CAS
                failed = true
#endif
            fi
        }
    od;
#ifdef MUTANT_RELAXED_FAILED_CAS
    failed = false;
#endif
    atomic {
        seen = 0;
        if
        :: woke -> woke = false; wake_one()
        :: else
        fi
    }
}

/* worker/team.h: odi_team_publish. Nobody: who works looks again before it sleeps. */
inline publish(who)
{
    fence_light(who);
    signal(who)
}

/* ---- worker/find.c: each looks in one place, and may find a job ---- */

/* The first to run; what is more goes into the worker's own deque, one by one. Between the
 * claim and the push a job is in nobody's sight. */
inline claim(w)
{
    if
    :: BATCH > 1 && head + 1 < tail && (slots & (1 << (head + 1))) -> head = head + 2; rest = true
    :: else -> head++
    fi;
    found_one = true
}

inline keep_rest(w)
{
    if
    :: rest ->
        atomic { rest = false; bottom_stored[w]++ };
#ifndef MUTANT_QUIET_BATCH
        publish(w)
#endif
    :: else
    fi
}

/* find_local and find_elsewhere, in one step: no order of theirs matters. A look may also
 * miss, as it does in the code when a job passes from one place to another behind it: whether
 * a worker sleeps rests on has_work alone. */
inline look(w)
{
    atomic {
        if
        :: top[w] < bottom_stored[w] -> top[w]++; found_one = true
        :: band && claimable -> claim(w)
        :: steals(w, 0)
        :: steals(w, 1)
        :: steals(w, 2)
#ifdef LIVENESS
        :: else
#else
        :: true
#endif
        fi
    }
}

/* odi_team_has_work: by the queues themselves. */
inline has_work()
{
    if
    :: claimable -> work = true
    :: else ->
        work = top[0] < bottom[0] || top[1] < bottom[1] || top[2] < bottom[2]
    fi
}

/* odi_team_seems_to_have_work: by the hints. */
inline seems_to_have_work()
{
    if
    :: band && head < tail -> work = true
    :: else ->
        work = top[0] < bottom[0] || top[1] < bottom[1] || top[2] < bottom[2]
    fi
}

/* ---- worker/run_loop.c ---- */

proctype worker(byte w)
{
    byte seen, epoch;
    bool woke, found_one, sweeping, rest, work;
#ifdef MUTANT_RELAXED_FAILED_CAS
    bool failed;
#endif

working:
    atomic { /* find_local, or search begins: odi_idle_try_search */
        look(w);
        if
        :: found_one -> goto found
        :: else
        fi;
        state[w] = SEARCHING;
        sweeping = true;
        if
        :: !searching[w] && !token_of(word) -> word = word | HELD; searching[w] = true
        :: else /* gives up when the token is out */
        fi
    };
sweep:
    look(w);
    if
    :: found_one -> goto found
    :: !found_one -> sweeping = false; goto park
    :: !found_one && searching[w] -> goto sweep /* waits awake for a moment */
    fi;

park:
    atomic { /* odi_idle_announce: one read-modify-write */
        assert(!searching[w] || token_of(word) == HELD);
        epoch = epoch_of(word);
        word = word + SLEEPER - (searching[w] -> HELD : 0);
        searching[w] = false;
        state[w] = ANNOUNCED
    };
#ifdef HINTS
    if /* clear_band_hints */
    :: tail == head -> band = false
    :: else
    fi;
#endif
    fence_heavy(w);
#if defined(HINTS) && !defined(MUTANT_HINT_STAYS_CLEARED)
    if /* restore_band_hints */
    :: head < tail -> band = true
    :: else
    fi;
#endif
#ifndef MUTANT_NO_LOOK_BEFORE_SLEEP
    has_work();
#endif
    if
    :: work
    :: else ->
        atomic { /* the futex compares and sleeps in one */
            if
            :: epoch_of(word) == epoch -> awaited[w] = true; state[w] = ASLEEP
            :: else
            fi
        };
end_asleep:
        !awaited[w] /* ended by: signal */
    fi;
    atomic { /* odi_idle_leave */
        searching[w] = (token_of(word) == FLYING);
        word = word - SLEEPER;
        if
        :: searching[w] -> word = without_token(word) | HELD
        :: else
        fi;
        state[w] = WORKING;
        epoch = 0
    };
#ifndef MUTANT_SEES_AND_DROPS
    /* What it has seen may be more than one job, and their submitters may have relied on the
     * token that it gave up when it announced: it searches on, or somebody else does. */
    atomic {
        if
        :: work && !searching[w] && !token_of(word) -> word = word | HELD; searching[w] = true
        :: else
        fi
    };
#endif
    work = false;
    goto working;

found:
    atomic { found_one = false; sweeping = false };
    keep_rest(w);
    if
    :: searching[w] ->
#ifdef MUTANT_NO_FENCE_IN_FOUND
        /* Without the fence the look may be answered before the give-back is written. */
        if
        :: true -> seems_to_have_work()
        :: true
        fi;
#endif
        atomic { /* odi_idle_found */
            assert(token_of(word) == HELD);
            word = without_token(word);
            searching[w] = false;
            write_out(w)
        };
#if !defined(MUTANT_NO_LOOK_AFTER_GIVE_BACK) && !defined(MUTANT_NO_FENCE_IN_FOUND)
        seems_to_have_work();
#endif
        if
        :: work -> work = false; publish(w)
        :: else
        fi
    :: else
    fi;
    atomic { state[w] = WORKING; started++ };
#if INSIDE
    if
    :: atomic { !spawned -> spawned = true; bottom_stored[w]++ };
        publish(w)
    :: else
    fi;
#endif
#ifdef TOGETHER
    (started == TOTAL); /* this body waits for the others */
#endif
    goto working
}

active proctype submitter()
{
    byte seen, ticket;
    bool woke;
#ifdef MUTANT_RELAXED_FAILED_CAS
    bool failed;
#endif

    do
    :: ticket < OUTSIDE ->
        atomic { submitting = true; tail_stored++; slots_stored = slots_stored | (1 << ticket) };
        fence_light(SUBMITTER); /* odi_site_push: the band's hint */
#ifdef HINTS
        if
        :: !band -> band = true
        :: else
        fi;
#endif
        publish(SUBMITTER);
        atomic { submitting = false; ticket++ }
    :: else -> break
    od
}

/* ---- what must hold always ---- */

#define HOLDERS (searching[0] + searching[1] + searching[2])
#define COUNTED(w) (state[w] == ANNOUNCED || state[w] == ASLEEP)

active proctype watch()
{
end:
    atomic {
        STRANDED || HOLDERS > 1 || ((token_of(word) == HELD) != (HOLDERS == 1)) ||
            (token_of(word) == FLYING && (word & SLEEPERS) == 0) ||
            (word & SLEEPERS) / SLEEPER != COUNTED(0) + COUNTED(1) + COUNTED(2) ||
            started > TOTAL ->
        assert(!STRANDED);
        assert(HOLDERS <= 1);               /* the token is not doubled */
        assert((token_of(word) == HELD) == (HOLDERS == 1));
        assert(token_of(word) != FLYING || (word & SLEEPERS)); /* somebody will pick it up */
        assert((word & SLEEPERS) / SLEEPER == COUNTED(0) + COUNTED(1) + COUNTED(2));
        assert(started <= TOTAL)
    }
}

init {
    atomic { run worker(0); run worker(1); run worker(2) }
}

#ifdef LIVENESS
ltl all_run { <> (started == TOTAL) }
#endif
