/* od_control.h — controlled runs: all threads of a run take steps one at a time, in an order that a seed decides. */
#ifndef OD_CONTROL_H
#define OD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct od_control od_control;

/* The step of a thread at a scheduling point: it begins, or has just ended. */
typedef enum od_control_kind {
    OD_CONTROL_STARTS,
    OD_CONTROL_ENDS,
    OD_CONTROL_SUBMITS,
    OD_CONTROL_BEGINS,
    OD_CONTROL_FINISHES,
    OD_CONTROL_CANCELS,
    OD_CONTROL_STEALS,
    OD_CONTROL_FIRES,
    OD_CONTROL_SUSPENDS,
    OD_CONTROL_RESUMES,
    OD_CONTROL_BRANCHES,
    OD_CONTROL_WAITS,
    OD_CONTROL_WAKES,
    OD_CONTROL_YIELDS,
    OD_CONTROL_POINT, /* of the program */
    OD_CONTROL_LOCKS,
    OD_CONTROL_ATOMIC,
    OD_CONTROL_FAILS
} od_control_kind;

typedef enum od_control_policy {
    OD_CONTROL_CONTINUES, /* the thread that runs goes on until it waits */
    OD_CONTROL_RANDOM,    /* each ready thread is as likely as any other */
    OD_CONTROL_PRIORITIES /* the ready thread of the highest random priority, which changes `changes` times */
} od_control_policy;

enum { OD_CONTROL_THREADS = 64, OD_CONTROL_LABEL = 32 };

/* At its decision of this number the run hands the baton to this thread. */
typedef struct {
    uint32_t decision, thread;
} od_control_choice;

typedef struct {
    uint64_t ready;    /* the threads that could go on, one bit each; one thread alone is no decision */
    uint32_t decision; /* number of the next decision; at a decision, its own */
    uint8_t kind, thread, chosen;
    uint8_t usual; /* what OD_CONTROL_CONTINUES would have chosen */
    uint32_t line;
    const char *file; /* static, or NULL */
    char label[OD_CONTROL_LABEL];
} od_control_step;

typedef struct {
    od_control_policy policy;
    uint64_t seed;
    uint32_t changes, expected, most_steps; /* `changes` among the first `expected` decisions */
    const od_control_choice *forced;        /* ascending, before the policy */
    size_t forced_count;
    const char *(*label)(const void *queue);
    bool (*owns)(const void *queue); /* whether the queue was made inside the run in progress */
    void *owner;            /* od_control_owner */
    const char *trap_line;  /* NULL, or the beginning of the line that a trap in a thread of the run writes to stderr */
} od_control_options;

typedef enum { OD_CONTROL_OVER, OD_CONTROL_DEADLOCK, OD_CONTROL_LIVELOCK, OD_CONTROL_STUCK, OD_CONTROL_LEFT } od_control_end;

typedef struct {
    od_control_end end;
    bool failed;
    uint32_t failed_step, decisions, threads;
    uint32_t missed; /* number of the first forced decision whose thread could not go on; UINT32_MAX: none */
    size_t steps;
    const od_control_step *log;
    int64_t time_ns; /* of the run's clock */
    uint64_t outside; /* wake-ups and submissions by threads outside the run */
    char text[1024];  /* the failure, or who waits for what */
} od_control_report;

/* Runs `body` on a new thread, and returns when all threads of the run have ended, or can never end. Threads that can
 * never end keep what they hold, for ever. One run at a time: a second caller waits. Never call it inside
 * a run. Free a pool of the run after the run. */
od_control *od_control_run(const od_control_options *options, void (*body)(void *), void *context, od_control_report *report);
void od_control_free(od_control *control);

/* For od_control_options: whether the pool of `queue`, an od_queue, was made inside the run in progress. */
bool od_control_owns(const void *queue);

/* Returns the name of thread `number`. */
const char *od_control_thread(const od_control *control, uint32_t number);

/* ---- inside a run: on a thread that it has started ---- */

bool od_control_is_inside(void);

/* Returns the time since the beginning of the run, on the run's clock. Outside a run it returns 0. */
int64_t od_control_time(void);

/* Returns the run's owner, or NULL outside. */
void *od_control_owner(void);

/* A scheduling point of the program. Outside a run it does nothing. */
void od_control_point(od_control_kind kind, const char *label, const char *file, uint32_t line);

/* Notes the run's first failure. Outside a run it does nothing. */
void od_control_fail(const char *text, const char *file, uint32_t line);

/* Waits for od_control_wake with the same address. Call it only inside a run. */
void od_control_wait(const void *place, const char *what);
void od_control_wake(const void *place);

/* Refuses each new thread of the run, or no longer, as a system does at its limit. Outside a run it does nothing. */
void od_control_refuse_threads(bool refuses);

/* Lets other threads go first, and returns true. Outside a run it returns false. */
bool od_control_yield(void);

OD_END_DECLS

#endif
