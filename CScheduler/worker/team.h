/* team.h — state that the workers of one pool share: entry of work, sleep, the list of workers, and their
 * number.
 *
 * A *site* is the pool's part on one NUMA node: its injectors and its event count. The *table* lists the
 * workers for thieves, sorted by site. A change replaces the whole table and retires the old one. A worker's
 * memory lives as long as the team, and a slot's next thread reuses its rings.
 *
 * The number of workers: `target` follows the machine's limits. Each worker known to block raises the limit
 * by one, up to `spare_cap` more. Below the limit, a submission that finds no sleeper starts a worker. Above
 * the limit, a worker parks after its job as a spare. The spare is called back, or ends after a while.
 *
 * Owns     sites, slots, the table, the counts (under `lock`).
 * Never    knows options, queues, or why the target changes; pool/ does.
 * Threads  attention's readers: any thread. Functions with the lock: any thread, cold paths.
 *
 * Edges    W1  table change -> steal   release/acquire     the table and its workers
 *          W3  join -> ask             release/acquire     a slot's worker
 *          W4  enter -> steal          release/acquire     an external thread's slot
 */
#ifndef ODI_WORKER_TEAM_H
#define ODI_WORKER_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/control.h"
#include "os/membarrier.h"
#include "os/thread.h"
#include "queue/injector.h"
#include "reclaim/reclaim.h"
#include "sleep/idle.h"
#include "sleep/lock.h"
#include "timer/timer_queue.h"
#include "topology/placement.h"

#pragma GCC visibility push(hidden)

enum {
    ODI_BANDS = 5,
    ODI_ALL_BANDS = (1 << ODI_BANDS) - 1,
    ODI_MOST_WORKERS = 1024,
    ODI_MOST_SPARES = 1024,
    ODI_MOST_SITES = 64,
    ODI_MOST_EXTERNALS = 256
};

typedef struct odi_worker odi_worker;
typedef struct odi_forks odi_forks;
typedef struct odi_team odi_team;

typedef union {
    struct {
        odi_idle idle;
        odi_injector injectors[ODI_BANDS];
        /* Bands whose injector may hold jobs. Submitters set the bits. A worker that is about to sleep clears
         * them and then checks again. */
        ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands;
        odi_atomic(int) searcher_cpu; /* CPU on which the token's holder last spun */
        int node;                     /* the kernel's number, for memory */
    };
    /* The largest base page of any kernel, so that each site lies on its own node. Untouched parts cost
     * address space only. */
    char pages[64 * 1024];
} odi_site;

typedef struct {
    odi_retired retired; /* first member: the reclaimer returns this address */
    int first[ODI_MOST_SITES + 1]; /* site s has the workers [first[s], first[s + 1]) */
    odi_worker *workers[];
} odi_table;

/* State flags that submitters and workers check; zero in the normal state. */
enum {
    ODI_CAN_START = 1,   /* fewer workers than the limit */
    ODI_MONITOR_OFF = 2, /* no monitor watches for blocked workers */
    ODI_SURPLUS = 4,     /* more workers than the limit */
    ODI_STOPPING = 8,    /* workers leave if they find no work */
    ODI_CANCELLING = 16, /* workers leave before the next job; submissions are discarded */
    ODI_NO_THREADS = 32  /* no thread yet: one is started before a job is accepted */
};

struct odi_team {
    /* Constant after the start. */
    odi_site *sites;
    int site_count;
    const int (*site_order)[ODI_MOST_SITES]; /* [site][rank]: the other sites by distance */
    const uint8_t (*site_classes)[ODI_MOST_SITES]; /* [site][rank]: distance class, as in counters.h */
    size_t stack_bytes;
    int capacity; /* slots: workers and spares */
    int spare_cap;
    int64_t bench_ns;
    int64_t first_index; /* first index of the deques: tests start next to the wraparound */
    char name[12];
    void (*arm_monitor)(odi_team *team);  /* called if attention has ODI_MONITOR_OFF */
    void (*stand_by)(odi_team *team);     /* makes the monitor check the timer queue in time */
    void (*refresh)(odi_team *team);      /* called when a worker passes a slow point */
    void (*worker_main)(void *worker);    /* a worker's thread: odi_worker_main */
    void *pool;
    uint64_t controlled; /* number of the controlled run (os/control.h) in which it was made; 0: outside */

    ODI_PAIR_ALIGNED odi_atomic(uint32_t) attention;
    odi_atomic(bool) may_spin;
    odi_atomic(odi_table *) table;
    odi_atomic(bool) forks_used;               /* a thread has forked here */
    odi_atomic(int) limit_seen, active_seen;   /* the limit and the workers, as hints */
    odi_atomic(int) externals_seen;            /* number of external threads' slots */
    odi_atomic(odi_forks *) externals[ODI_MOST_EXTERNALS]; /* a slot stays once it exists (W4) */
    odi_atomic(bool) held_back; /* forks wait for which no worker was woken: see external.h */

    ODI_PAIR_ALIGNED odi_timer_queue timers; /* see worker/due.h */

    /* Everything below is protected by the lock. */
    ODI_PAIR_ALIGNED odi_lock lock;
    int64_t next_monitor_ns; /* after a failed start of the monitor: next attempt not before this time */
    int target, blocked, allowance;
    odi_plan *plan; /* placement of workers; NULL: anywhere */
    int *assigned;  /* [capacity] each slot's place: assignment.h */
    int active;  /* workers that are not parked */
    int present; /* threads of the team that have not ended */
    odi_atomic(odi_worker *) *slots; /* [capacity]; a worker stays once it exists (W3) */
    odi_worker *bench;
    bool start_failed_said;
    odi_lock first_lock;   /* held while the first thread starts; acquired before `lock` */
    int64_t next_start_ns; /* after a failed start: next attempt not before this time */
    odi_atomic(uint32_t) departures; /* counts ended threads; stop sleeps on it */
    odi_atomic(uint64_t) ran_outside; /* jobs that ran on threads that are not workers */
    odi_atomic(uint64_t) cancelled;   /* jobs that will never run */
    odi_atomic(uint64_t) starts, start_failures, warnings, most_spares, cap_reached;
};

/* Creates sites, injectors and an empty table. Returns false, and keeps nothing, if an allocation fails. */
bool odi_team_init(odi_team *team);

/* As odi_thread_start. A run's thread that starts one for a team of the run starts it inside. */
static inline int odi_team_start_thread(odi_team *team, void (*body)(void *), void *argument, size_t stack_bytes,
                                        const char *name)
{
    if (odi_is_controlled() && team->controlled == odi_control_run_here())
        return odi_thread_start_inside(body, argument, stack_bytes, name);
    return odi_thread_start(body, argument, stack_bytes, name);
}

/* Frees everything. No thread of the team may exist. */
void odi_team_free(odi_team *team);

/* Returns a slot's new worker, without a thread, or NULL if an allocation fails. Lock held. */
odi_worker *odi_team_make_worker(odi_team *team, int slot);

/* Returns the limit of running workers. Lock held. */
int odi_team_limit(const odi_team *team);

/* Sets or clears bits of attention. */
void odi_team_set_attention(odi_team *team, uint32_t bits, bool on);

/* Updates attention's CAN_START and SURPLUS after a change of the counts. Lock held. */
void odi_team_counts_changed(odi_team *team);

/* Sets the number of workers and, unless NULL, the placement plan. Returns the replaced plan for the caller
 * to free. The caller then calls odi_team_publish_waiting. */
odi_plan *odi_team_set_target(odi_team *team, int target, odi_plan *plan);

/* Rebuilds the table after workers changed. Returns false if an allocation fails; the old table then stays.
 * Lock held. */
bool odi_team_list_workers(odi_team *team);

/* Marks the band after a push into its injector. */
ODI_HOT_INLINE void odi_site_mark(odi_site *site, uint32_t band)
{
    /* relaxed: a thread that clears the bit checks the injector again after a heavy fence (S1). J1 keeps the
     * compiler from moving this before the push. */
    odi_fence_light(S1);
    if (ODI_UNLIKELY(!(odi_load_relaxed(&site->bands) & (1u << band))))
        odi_or_relaxed(&site->bands, 1u << band);
}

/* Pushes a job into a site's injector and marks its band. Returns false if an allocation fails or a stop has
 * closed the injector. The caller announces the job. */
ODI_HOT_INLINE bool odi_site_push(odi_site *site, uint32_t band, odi_entry entry)
{
    bool pushed = odi_injector_push(&site->injectors[band], entry);

    if (ODI_LIKELY(pushed))
        odi_site_mark(site, band);
    return pushed;
}

/* Returns the site for submissions of the calling thread, which is not a worker: its node's site, as far as
 * known. */
odi_site *odi_team_nearest_site(odi_team *team);

ODI_HOT_INLINE odi_site *odi_team_site_here(odi_team *team)
{
    return ODI_LIKELY(team->site_count == 1) ? &team->sites[0] : odi_team_nearest_site(team);
}

/* Adds a worker to the list of parked spares, or removes it. Lock held, both. */
void odi_team_seat(odi_worker *worker);
void odi_team_unseat(odi_worker *worker);

/* Counts one more worker that is known to block, or (-1) one fewer. */
void odi_team_count_blocked(odi_team *team, int change);

/* In a forked child: the threads do not exist, and queued jobs belong to the parent. */
void odi_team_forked(odi_team *team, bool stopped);

#pragma GCC visibility pop

#endif
