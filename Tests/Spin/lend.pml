/* lend.pml — places that their holders lend while they wait: gate/earmark.c, and as much of gate/divert.c, override.c,
 * drain.c and target.c as it takes part in, as states.
 *
 * The names are the code's: running, coming, in_line, passes, passed_over, stranded, away, borrowed, awaited; settle,
 * lend, take_back, come_back, may_begin, let_callers_in, line_up. What the code does under locks is one step here,
 * and what it does when it has released them (carry_out) is another.
 *
 * Three lanes, of which lane 0 is the target of all. SCENE says who else there is:
 *
 *   1  lanes 1 and 2 are on 0. One is in 0 and in 1, and leaves 1; the second is in 0 and syncs onto 1, one is in 0
 *      and syncs onto 2; somebody from outside syncs onto 2, where a job is submitted. The first stays in 0, and who
 *      came from outside in 2, until the second has had its turn, and so does a job that the only worker may get.
 *   2  lane 1 is on 0. Two are in 0: one syncs onto 1, where two jobs are submitted that wait for each other to have
 *      begun, and the other waits for that too; meanwhile 0 gets a third place. Two workers.
 *   3  a chain: lane 2 is on 1. One is in 0 and syncs onto 2, one is in 1 (and with that in 0) and syncs onto 2;
 *      somebody from outside syncs onto 2, and a job is submitted to it. One worker.
 *
 * Left out: bands, barriers, suspension, shortage of memory, and threads that run other jobs while they wait.
 *
 * Checked   - no more run than a lane has places, whoever lends
 *           - every wait ends: nothing goes on only when all are done. There is no loop without an end in it, so that
 *             is all that is to be shown.
 *           - then nothing is lent, borrowed, stranded or waited for, and no place is held
 */
#ifndef SCENE
#define SCENE 1
#endif

/* FINE: what is carried out without locks is a step of its own. Else it follows at once. */
#ifdef FINE
#define TOGETHER
#else
#define TOGETHER atomic
#endif

#define LANES 3
#define NOBODY 255
#define JOB 1
#define PASS(l) (10 + (l))
#define TURN(i) (20 + (i))
#define is_pass(e) ((e) >= 10 && (e) < 20)
#define is_turn(e) ((e) >= 20)

#if SCENE == 3
#define target(l) ((l) - 1)
#else
#define target(l) ((l) == 0 -> -1 : 0)
#endif

byte width[LANES], running[LANES], coming[LANES], in_line[LANES], away[LANES], borrowed[LANES];
byte passes[LANES], passed_over[LANES], stranded[LANES], awaited[LANES];
chan lane0 = [16] of { byte };
chan lane1 = [12] of { byte };
chan lane2 = [8] of { byte };
chan back0 = [3] of { byte };
chan back1 = [3] of { byte };
chan callers1 = [3] of { byte };
chan callers2 = [3] of { byte };
chan lane[LANES];
chan first_back[LANES];   /* holders that want their places back; nobody is on the highest lane */
chan first_caller[LANES]; /* sync callers through the lane, while it is awaited */
short through[6] = -1;    /* by thread: the lane whose place a caller that waits holds */
bool granted[6];

byte pool;     /* passes of lane 0 that workers come for */
byte begun;    /* jobs */
byte done;     /* threads and jobs */
bool second_is_back, one_waits_for_it;

hidden byte who; /* within one step */
hidden byte comes, is_up;

/* ---- gate/earmark.c, lock held ---- */

#define may_begin(l) \
    (len(first_back[l]) == 0 && \
     (running[l] < width[l] || (borrowed[l] < away[l] && running[l] - away[l] < width[l])))

#define of_awaited(l, c) (target(c) == (l) && awaited[c] > 0 -> stranded[c] : 0)
#define awaited_passes(l) (of_awaited(l, 1) + of_awaited(l, 2))

inline repay(l)
{
    running[l]--;
    if
    :: borrowed[l] > 0 -> borrowed[l]--
    :: else
    fi
}

inline count_borrowed(l)
{
    if
    :: running[l] <= width[l] -> borrowed[l] = 0
    :: running[l] > width[l] && borrowed[l] > running[l] - width[l] ->
        borrowed[l] = running[l] - width[l]
    :: else
    fi
}

inline come_back(l)
{
    count_borrowed(l);
    if
    :: borrowed[l] >= away[l] && in_line[l] == 0 -> comes = false
    :: else ->
        if
        :: borrowed[l] >= away[l] ->
            in_line[l]--;
            if
            :: coming[l] > 0 -> coming[l]--
            :: else
            fi;
            repay(l)
        :: else
        fi;
        away[l]--;
        comes = true
    fi
}

inline let_callers_in(l, c)
{
    do
    :: target(c) == l && awaited[c] > 0 && len(first_caller[c]) > 0 && may_begin(l) ->
        first_caller[c]?who;
        if
        :: running[l] >= width[l] -> borrowed[l]++
        :: else
        fi;
        running[l]++;
        granted[who] = true
    :: else -> break
    od
}

/* Nobody waits for a turn in a lane on the highest one. */
inline borrow_settle(l)
{
    if
    :: l < 2 ->
#ifndef MUTANT_OLD_WIDTH
        count_borrowed(l);
#endif
        do
        :: len(first_back[l]) > 0 ->
            come_back(l);
            if
            :: comes -> first_back[l]?who; granted[who] = true
            :: else -> break
            fi
        :: else -> break
        od;
        let_callers_in(l, 1);
        let_callers_in(l, 2)
    :: else
    fi
}

/* ---- gate/divert.c and override.c, lock held ---- */

inline give_passes(l)
{
    gives = 0;
    if
    :: passes[l] < in_line[l] -> gives = in_line[l] - passes[l]; passes[l] = in_line[l]
    :: else
    fi
}

inline settle(l)
{
    if
    :: away[l] > 0 -> borrow_settle(l)
    :: else
    fi;
    if
    :: running[l] < width[l] && len(lane[l]) > 0 && coming[l] == 0 ->
        running[l]++; coming[l]++; in_line[l]++
    :: !(running[l] < width[l] && len(lane[l]) > 0) && away[l] > 0 && coming[l] == 0 &&
       awaited_passes(l) > 0 && may_begin(l) ->
        if
        :: running[l] >= width[l] -> borrowed[l]++
        :: else
        fi;
        running[l]++; coming[l]++; in_line[l]++
    :: else
    fi;
    give_passes(l);
    assert(running[l] - away[l] <= width[l]);
    assert(borrowed[l] <= away[l])
}

/* ---- without locks ---- */

/* What follows from settling a lane: passes to the pool, or to the lane's target, which is settled then. */
inline carry_out(l)
{
    if
    :: gives == 0
    :: else -> at = l
    fi;
    do
    :: gives == 0 -> break
    :: gives > 0 && at == 0 -> d_step { pool = pool + gives; gives = 0 }
    :: gives > 0 && at > 0 ->
        d_step { /* gate/target.c: send */
            do
            :: gives > 0 ->
                gives--;
                if
                :: awaited[at] > 0 -> stranded[at]++
                :: else -> lane[target(at)]!PASS(at)
                fi
            :: else -> break
            od;
            at = target(at);
            settle(at);
            if
            :: gives == 0 -> at = 0
            :: else
            fi
        }
    od;
    skip
}

/* ---- drainers ---- */

/* Lock held. */
inline take_next(l)
{
    entry = 0;
    if
    :: l < 2 && away[l] > 0 && len(first_back[l]) > 0
    :: else ->
        if
        :: away[l] > 0 && awaited_passes(l) > 0 && running[l] - away[l] <= width[l] ->
            if
            :: of_awaited(l, 1) > 0 -> stranded[1]--; entry = PASS(1)
            :: else -> stranded[2]--; entry = PASS(2)
            fi
        :: else ->
            if
            :: running[l] <= width[l] && len(lane[l]) > 0 -> lane[l]?entry
            :: else
            fi
        fi
    fi
}

inline take(l)
{
    gives = 0;
    take_next(l);
    if
    :: entry == 0 -> repay(l); settle(l)
    :: entry != 0 && begins -> settle(l)
    :: else
    fi;
    begins = false
}

inline come_up(l)
{
    if
    :: passes[l] > 0 -> passes[l]--
    :: else -> passed_over[l]--
    fi;
    is_up = in_line[l] > 0;
    begins = false;
    if
    :: is_up ->
        in_line[l]--;
        begins = coming[l] > 0;
        if
        :: begins -> coming[l]--
        :: else
        fi
    :: else
    fi
}

/* Whether a target is in want of a worker. */
#define is_wanted_by(l) (running[l] > width[l] || len(lane[l]) > 0)

inline run_job()
{
    begun++;
#if SCENE == 2
    (begun == 2); /* they wait for each other */
#endif
    done++
}

proctype worker()
{
    byte cur, entry, gives;
    short at;
    bool begins;

end:
    do
    :: atomic { pool > 0 -> pool--; cur = 0 };
        goto comes_up
    :: atomic { one_waits_for_it -> one_waits_for_it = false };
        second_is_back; /* the job */
        done++
    od;

comes_up:
    TOGETHER {
        d_step {
            come_up(cur);
            if
            :: is_up -> take(cur)
            :: else -> entry = 0; gives = 0
            fi
        };
        carry_out(cur)
    };
    goto has_taken;
takes:
    TOGETHER { d_step { take(cur) }; carry_out(cur) };
has_taken:
    if
    :: entry == 0 -> goto leaves
    :: atomic { is_turn(entry) -> granted[entry - TURN(0)] = true; entry = 0 };
        goto leaves /* its place has passed on */
    :: atomic { is_pass(entry) -> cur = entry - PASS(0); entry = 0 };
        goto comes_up
    :: atomic { entry == JOB -> entry = 0 };
        run_job()
    fi;

after_a_job:
    if
    :: cur == 0 || !(is_wanted_by(0) || (target(cur) == 1 && is_wanted_by(1))) -> goto takes
    :: true /* its turn is over */
    fi;
    TOGETHER { d_step { /* gate/override.c: line_up */
        in_line[cur]++;
#ifndef MUTANT_KEEPS_ITS_PLACE
        if
        :: cur < 2 && len(first_back[cur]) > 0 -> borrow_settle(cur)
        :: else
        fi;
#endif
        give_passes(cur)
    };
    carry_out(cur) };
leaves:
    if
    :: cur == 0 -> goto end
    :: else -> cur = target(cur); goto after_a_job
    fi
}

/* ---- sync callers ---- */

#define may_enter(l) (running[l] < width[l] && len(lane[l]) == 0)

/* gate/earmark.c: lend, with begin_waiting */
inline lend(below, l)
{
    TOGETHER { d_step {
        awaited[below]++;
        if
        :: awaited[below] == 1 ->
#ifndef MUTANT_OLD_PASSES
            passed_over[below] = passes[below];
            passes[below] = 0;
#endif
#ifndef MUTANT_CALLERS_STAY
            who = 0;
            do /* take_out */
            :: who < 6 && through[who] == below && lane[l]??[eval(TURN(who))] ->
                lane[l]??eval(TURN(who));
                first_caller[below]!who;
                who++
            :: who < 6 && !(through[who] == below && lane[l]??[eval(TURN(who))]) -> who++
            :: who == 6 -> break
            od
#endif
        :: else
        fi;
        away[l]++;
        settle(l)
    };
    carry_out(l) };
    TOGETHER { d_step { settle(below) }; carry_out(below) }
}

/* gate/earmark.c: take_back, with end_waiting */
inline take_back(below, l)
{
    TOGETHER { d_step {
        awaited[below]--;
        if
        :: awaited[below] == 0 ->
            passes[below] = passes[below] + passed_over[below];
            passed_over[below] = 0;
            do
            :: stranded[below] > 0 -> stranded[below]--; lane[l]!PASS(below)
            :: else -> break
            od;
            do
            :: len(first_caller[below]) > 0 -> first_caller[below]?who; lane[l]!TURN(who)
            :: else -> break
            od
        :: else
        fi;
        come_back(l);
        is_back = comes; /* settling uses the other for others */
        if
        :: !is_back -> first_back[l]!me
        :: else
        fi;
        settle(l)
    };
    carry_out(l) };
    atomic { is_back || granted[me] -> granted[me] = false; is_back = false }
}

/* gate/drain.c: take_turn */
inline take_turn(l, by)
{
    TOGETHER { d_step {
        gives = 0;
        if
        :: may_enter(l) -> running[l]++; granted[me] = true
        :: else ->
            through[me] = by;
            if
            :: by > 0 && awaited[by] > 0 -> first_caller[by]!me
            :: else -> lane[l]!TURN(me)
            fi;
            settle(l)
        fi
    };
    carry_out(l) };
    atomic { granted[me] -> granted[me] = false; through[me] = -1 }
}

inline end_turn(l)
{
    TOGETHER { d_step {
        gives = 0;
        entry = 0;
        if
        :: running[l] <= width[l] && len(lane[l]) > 0 -> lane[l]?<entry>
        :: else
        fi;
        if
        :: is_turn(entry) && (l == 2 || len(first_back[l]) == 0) ->
            lane[l]?entry;
            granted[entry - TURN(0)] = true
        :: else -> repay(l); settle(l)
        fi;
        entry = 0
    };
    carry_out(l) }
}

/* gate/control.c: wait_for_turn. `mine`: the lane that the thread is in already, or -1; what it is in is on that
 * one's way down. */
inline wait_for_turn(l, by)
{
    low = l;
    do
    :: low > 0 ->
        if
        :: target(low) <= mine -> lend(low, target(low))
        :: else
        fi;
        low = target(low)
    :: else -> break
    od;
    take_turn(l, by);
    low = l;
    do
    :: low > 0 ->
        if
        :: target(low) <= mine -> take_back(low, target(low))
        :: else
        fi;
        low = target(low)
    :: else -> break
    od
}

/* In `mine` already (-1: in none), it syncs onto `onto`, and leaves all that it is in. */
proctype caller(byte me; short mine; short onto)
{
    byte entry, gives;
    short at, low, here, by = -1;
    bool is_back;

    here = onto;
    do
    :: here > mine ->
        if
        :: atomic { by < 0 && may_enter(here) -> running[here]++ }
        :: else -> wait_for_turn(here, by)
        fi;
        by = here;
        here = target(here)
    :: else -> break
    od;
    by = -1;
#if SCENE == 1
    if
    :: me == 1 -> second_is_back = true
    :: me == 3 -> second_is_back
    :: else
    fi;
#endif
    here = target(onto);
    do
    :: here > mine -> end_turn(here); here = target(here)
    :: else -> break
    od;
    end_turn(onto);
    here = mine;
    do
    :: here >= 0 -> here = target(here); if :: here >= 0 -> end_turn(here) :: else fi
    :: else -> break
    od;
    if
    :: mine >= 0 -> end_turn(mine)
    :: else
    fi;
    done++
}

/* In two lanes from the beginning. */
proctype first(byte inner; byte outer)
{
    byte entry, gives;
    short at;

    end_turn(inner);
    second_is_back;
    end_turn(outer);
    done++
}

/* In lane 0 from the beginning, until the jobs have begun. */
proctype stays()
{
    byte entry, gives;
    short at;

    (begun == 2);
    end_turn(0);
    done++
}

proctype submit(byte onto)
{
    byte gives;
    short at;

    TOGETHER { d_step { lane[onto]!JOB; settle(onto) }; carry_out(onto) }
}

proctype widen()
{
    byte gives;
    short at;

    TOGETHER { d_step { width[0]++; settle(0) }; carry_out(0) };
    done++
}

#define all_is_over(l) \
    (running[l] == 0 && away[l] == 0 && borrowed[l] == 0 && coming[l] == 0 && in_line[l] == 0 && \
     stranded[l] == 0 && awaited[l] == 0 && len(lane[l]) == 0)

active proctype at_the_end()
{
    timeout; /* nothing goes on */
#if SCENE == 1
    assert(done == 6);
#elif SCENE == 2
    assert(done == 5);
#else
    assert(done == 4);
#endif
    assert(all_is_over(0) && all_is_over(1) && all_is_over(2))
}

init {
    atomic {
        lane[0] = lane0; lane[1] = lane1; lane[2] = lane2;
        first_back[0] = back0; first_back[1] = back1;
        first_caller[1] = callers1; first_caller[2] = callers2;
#if SCENE == 1
        width[0] = 3; width[1] = 1; width[2] = 2;
        running[0] = 3; running[1] = 1;
        one_waits_for_it = true;
        run first(1, 0);
        run caller(1, 0, 1);
        run caller(2, 0, 2);
        run caller(3, -1, 2);
        run submit(2);
        run worker()
#elif SCENE == 2
        width[0] = 2; width[1] = 3; width[2] = 1;
        running[0] = 2;
        run stays();
        run caller(1, 0, 1);
        run submit(1); run submit(1);
        run widen();
        run worker(); run worker()
#else
        width[0] = 2; width[1] = 2; width[2] = 1;
        running[0] = 2; running[1] = 1;
        run caller(1, 0, 2);
        run caller(2, 1, 2);
        run caller(3, -1, 2);
        run submit(2);
        run worker()
#endif
    }
}
