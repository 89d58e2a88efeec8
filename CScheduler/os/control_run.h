/* control_run.h — the state of a controlled run, for the files control*.c alone. */
#ifndef ODI_OS_CONTROL_RUN_H
#define ODI_OS_CONTROL_RUN_H

#include <pthread.h>

#include "os/control.h"

#pragma GCC visibility push(hidden)

struct odi_baton {
    od_control *control;
    uint32_t number;
    enum { ODI_BATON_READY, ODI_BATON_WAITING, ODI_BATON_ENDED } state;
    bool watches, timed_out; /* `watches`: the monitor, which makes no progress */
    const void *word;       /* NULL: it waits for its deadline */
    uint32_t names;
    int64_t deadline;
    uint64_t since; /* orders waiters of one word */
    int64_t priority;
    const char *waits_for; /* static */
    char waits_at[OD_CONTROL_LABEL];
    int thread_id;
    char name[16];
    pthread_cond_t go;
};

struct od_control {
    pthread_mutex_t lock; /* guards all of it */
    pthread_cond_t event; /* for the thread that has begun the run */
    od_control_options options;
    uint64_t number; /* of the run, in this process */
    uint64_t random;
    odi_baton *threads[OD_CONTROL_THREADS];
    uint32_t count;
    odi_baton *holder; /* NULL: no thread is ready, or the run is dead */
    bool dead, refuses; /* `refuses`: new threads */
    int64_t now;
    uint32_t reads;      /* of the clock, since the last step */
    uint32_t goes_on;    /* decisions in which the last thread went on */
    uint64_t waits;      /* counts waits */
    uint32_t idle_jumps; /* of the clock, since a thread has made progress */
    uint64_t changes;    /* counts every change, for the watching thread */
    uint32_t decisions, forced_seen;
    uint32_t change_at[16]; /* decisions at which the running thread's priority falls, ascending */
    uint32_t change_count, changes_seen;
    int64_t lowest; /* priority that was given last to a thread that yields */
    od_control_report report;
    od_control_step *log;
    size_t room;
    int cpu;
    void (*body)(void *);
    void *context;
};

/* Take and release a lock of the run. ThreadSanitizer sees neither the accesses nor any order between the two calls:
 * the baton must not hide the races of a program. The engine's own edges remain. */
void odi_control_lock(pthread_mutex_t *lock);
void odi_control_unlock(pthread_mutex_t *lock);

/* Readies up to `count` waiters. Any thread. */
int odi_control_wake_in(od_control *control, const void *word, int count, uint32_t names);

/* Returns a new thread of the run, or NULL. Lock held. */
odi_baton *odi_control_thread_in(od_control *control, const char *name);

/* Handle traps of the run's threads: control_trap.c. */
void odi_control_traps_begin(void);
void odi_control_traps_end(void);

/* Begins the policy of a run. */
void odi_control_policy_begin(od_control *control);

/* Returns a new thread's priority. */
int64_t odi_control_policy_priority(od_control *control);

/* Decides among at least two ready threads. `current` may be among them, or not; `yields`: it wants another one. */
uint32_t odi_control_policy_choose(od_control *control, const odi_baton *current, uint64_t ready, bool yields,
                                   uint8_t *usual);

#pragma GCC visibility pop

#endif
