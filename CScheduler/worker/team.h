/* team.h — what the workers of one pool share: where work comes in, where they sleep, who
 * they are, and how many of them may run.
 *
 * A *site* is a node's meeting place: its injectors and its event count. The *table* lists
 * the workers that thieves visit, sorted by site; it is replaced as a whole and the old one
 * retired. A worker's memory lives as long as the team, and a slot's next thread takes over
 * its rings.
 *
 * How many: `target` is what the machine gives. Each worker that is known to block adds one
 * to the limit, up to `spare_cap`. Below the limit a submission that finds nobody to wake
 * starts a worker; above it a worker that finishes a job goes to the bench, from where it is
 * called back or, after a while, leaves.
 *
 * Owns     sites, slots, the table, the counts (under `lock`).
 * Never    knows options, queues, or why the target changes: pool/ does.
 * Threads  attention's readers: anyone. Everything with the lock: anyone, cold.
 *
 * Edges    W1  table change -> steal   release/acquire     the table and its workers
 *          W3  join -> ask             release/acquire     a slot's worker
 *          W4  enter -> steal          release/acquire     an external thread's place
 */
#ifndef ODI_WORKER_TEAM_H
#define ODI_WORKER_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/membarrier.h"
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
        /* Bands whose injector may hold something. Set by submitters; cleared by workers that
         * are about to sleep and look once more afterwards. */
        ODI_PAIR_ALIGNED odi_atomic(uint32_t) bands;
        odi_atomic(int) searcher_cpu; /* where the token's holder last waited awake */
        int node;                     /* the kernel's number, for memory */
    };
    /* The kernel's largest page, so that each site's lies on its node. What is not touched of
     * it costs address space only. */
    char pages[64 * 1024];
} odi_site;

typedef struct {
    odi_retired retired; /* first: the reclaimer hands this back */
    int first[ODI_MOST_SITES + 1]; /* site s has workers [first[s], first[s + 1]) */
    odi_worker *workers[];
} odi_table;

/* What submitters and workers look at on the way: zero when all is as usual. */
enum {
    ODI_CAN_START = 1,   /* fewer workers than the limit */
    ODI_MONITOR_OFF = 2, /* nobody watches for blocked workers */
    ODI_SURPLUS = 4,     /* more workers than the limit */
    ODI_STOPPING = 8,    /* workers leave when they find nothing */
    ODI_CANCELLING = 16, /* workers leave before the next job; what is submitted is discarded */
    ODI_NO_THREADS = 32  /* it had no thread yet: the first is had before a job is accepted */
};

struct odi_team {
    /* Constant after start. */
    odi_site *sites;
    int site_count;
    const int (*site_order)[ODI_MOST_SITES]; /* [site][rank]: the others by distance */
    const uint8_t (*site_classes)[ODI_MOST_SITES]; /* [site][rank]: how far that is, as
                                                      counters.h counts it */
    size_t stack_bytes;
    int capacity; /* slots: workers and spares */
    int spare_cap;
    int64_t bench_ns;
    int64_t first_index; /* where deques' indices begin: tests begin next to the wrap */
    char name[12];
    void (*arm_monitor)(odi_team *team);  /* attention said ODI_MONITOR_OFF */
    void (*stand_by)(odi_team *team);     /* the monitor is to look at the timer queue in time */
    void (*refresh)(odi_team *team);      /* a worker passes a slow point */
    void (*worker_main)(void *worker);    /* a worker's thread: odi_worker_main */
    void *pool;

    ODI_PAIR_ALIGNED odi_atomic(uint32_t) attention;
    odi_atomic(bool) may_spin;
    odi_atomic(odi_table *) table;
    odi_atomic(bool) forks_used;               /* somebody has forked here */
    odi_atomic(int) limit_seen, active_seen;   /* the limit and the workers, as hints */
    odi_atomic(int) externals_seen;            /* places of external threads that exist */
    odi_atomic(odi_forks *) externals[ODI_MOST_EXTERNALS]; /* a place stays once it is there (W4) */
    odi_atomic(bool) held_back; /* forks wait that nobody was woken for: see external.h */

    ODI_PAIR_ALIGNED odi_timer_queue timers; /* see worker/due.h */

    /* Under the lock, all of it. */
    ODI_PAIR_ALIGNED odi_lock lock;
    int64_t next_monitor_ns; /* after a failed start of the monitor: not before this */
    int target, blocked, allowance;
    odi_plan *plan; /* where workers live; NULL: anywhere */
    int *assigned;  /* [capacity] each slot's place: assignment.h */
    int active;  /* workers that are not on the bench */
    int present; /* threads of the team that have not left */
    odi_atomic(odi_worker *) *slots; /* [capacity]; a worker stays once it is there (W3) */
    odi_worker *bench;
    bool start_failed_said;
    odi_lock first_lock;   /* around the first thread's start; before the lock above */
    int64_t next_start_ns; /* after a failed start: not before this */
    odi_atomic(uint32_t) departures; /* counts threads that left; stop sleeps on it */
    odi_atomic(uint64_t) ran_outside; /* jobs that ran on threads that are no workers */
    odi_atomic(uint64_t) cancelled;   /* jobs that never will have run */
    odi_atomic(uint64_t) starts, start_failures, warnings, most_spares, cap_reached;
};

/* Sites, injectors and an empty table. False: memory is short, and nothing is kept. */
bool odi_team_init(odi_team *team);

/* Frees everything. No thread of the team is present. */
void odi_team_free(odi_team *team);

/* A slot's worker, which has no thread yet. NULL: memory is short. Lock held. */
odi_worker *odi_team_make_worker(odi_team *team, int slot);

/* How many workers may run now. Under the lock. */
int odi_team_limit(const odi_team *team);

/* Sets or clears bits of attention. */
void odi_team_set_attention(odi_team *team, uint32_t bits, bool on);

/* Writes attention's CAN_START and SURPLUS anew after a change of the counts. Lock held. */
void odi_team_counts_changed(odi_team *team);

/* So many workers from now on, at the places of `plan` (NULL: the one there is). Returns the
 * plan that is over, for the caller to free. odi_team_publish_waiting follows. */
odi_plan *odi_team_set_target(odi_team *team, int target, odi_plan *plan);

/* Makes the table anew after workers changed. False: memory is short, and it stays. Lock held. */
bool odi_team_list_workers(odi_team *team);

/* After a push into the injector of that band. */
ODI_HOT_INLINE void odi_site_mark(odi_site *site, uint32_t band)
{
    /* relaxed: the clearer looks at the injector again behind a heavy fence (S1), and the
     * compiler keeps this after the push because of J1. */
    odi_fence_light(S1);
    if (ODI_UNLIKELY(!(odi_load_relaxed(&site->bands) & (1u << band))))
        odi_or_relaxed(&site->bands, 1u << band);
}

/* Puts a job into a site's injector and marks its band. False: memory is short, or a stop has closed the
 * injector. The caller publishes. */
ODI_HOT_INLINE bool odi_site_push(odi_site *site, uint32_t band, odi_entry entry)
{
    bool pushed = odi_injector_push(&site->injectors[band], entry);

    if (ODI_LIKELY(pushed))
        odi_site_mark(site, band);
    return pushed;
}

/* The site that a thread which is no worker submits to: its node's, as far as it knows. */
odi_site *odi_team_nearest_site(odi_team *team);

ODI_HOT_INLINE odi_site *odi_team_site_here(odi_team *team)
{
    return ODI_LIKELY(team->site_count == 1) ? &team->sites[0] : odi_team_nearest_site(team);
}

/* Puts a worker on the bench, or takes it off it. Lock held, both. */
void odi_team_seat(odi_worker *worker);
void odi_team_unseat(odi_worker *worker);

/* One more worker is known to block, or (-1) one fewer. */
void odi_team_count_blocked(odi_team *team, int change);

/* In a forked child: the threads are gone, and what was queued is the parent's. */
void odi_team_forked(odi_team *team, bool stopped);

#pragma GCC visibility pop

#endif
