/* find.c — chooses a worker's next job by band and place: its own deques, injectors, other workers. Only the
 * worker's own thread calls it. */
#include "worker/find.h"

#include "base/rng.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "os/thread.h"
#include "worker/override.h"
#include "worker/recruit.h"

/* A worker with jobs in its deque checks its injectors after this many takes. */
enum { LOOK_OUTSIDE_EVERY = 61 };

/* One of this many such checks goes farther: to another worker's deque and another site's injectors. */
enum { LOOK_FAR_EVERY = 8 };

/* A waiting lower band is served after at most this many jobs of higher bands. */
enum { MOST_PASSED_OVER = 256 };

/* While a waiter overrides a lower band that has no work here, a worker checks other places for it once per
 * this many takes. */
enum { LOOK_FOR_OVERRIDDEN_EVERY = 8 };

/* A worker that always has work reads the coarse clock after each long job or after this many jobs. The
 * number doubles while the clock has not moved. When the clock has moved, the worker checks for work
 * elsewhere. Such work therefore waits for milliseconds, not for the end of another worker's job. */
enum { LEAST_PER_CLOCK = 8, MOST_PER_CLOCK = 64 };

/* One of this many such checks includes lower bands. */
enum { LOOK_LOWER_EVERY = 16 };

enum { BATCH = ODI_STEAL_BATCH };

/* A thief that stole less than SMALL_CATCH pauses before its next steal. It has caught up with the worker
 * that fills the deque, and more attempts would only take that worker's cache lines. Long jobs are not
 * delayed, because the pause has passed when they end. (A pause before an injector gained nothing.) */
enum { SMALL_CATCH = BATCH / 2, STEAL_PAUSE_NS = 1000 };

/* A shorter pause would let the checks take cache lines from the worker that runs a chain of jobs. */
enum { LONE_PAUSE_NS = 3000 };

/* Ended by the clock, or by jobs from external threads. */
static void pause_until(odi_worker *worker, int64_t time_ns)
{
    /* relaxed: a hint */
    while (odi_spins_on(odi_clock_now() < time_ns && odi_load_relaxed(&worker->site->bands) == 0))
        odi_spin_pause();
}

static void pause_before_stealing(odi_worker *worker)
{
    if (worker->caught_ns != 0)
        pause_until(worker, worker->caught_ns + STEAL_PAUSE_NS);
    worker->caught_ns = 0;
}

static uint32_t lowest_bit(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

static bool has_ring(odi_deque *deque)
{
    return odi_load_relaxed(&deque->ring) != NULL; /* relaxed, owner-only word */
}

/* Keeps all jobs of the batch except the first. The deque is empty and its ring has room for a batch, so the
 * push cannot fail. */
static void keep_rest(odi_worker *worker, uint32_t band, const odi_entry *batch, size_t count)
{
    for (size_t i = 1; i < count; i++)
        (void)odi_worker_push(worker, band, batch[i]);
    /* No other thread could see these jobs in between. A worker that searched and went to sleep is woken
     * again. */
    if (count > 1)
        odi_team_publish(worker->team, worker->site);
}

/* Returns the largest batch for a claim or steal in `band`: 1 if the deque has no ring to hold more. */
static size_t batch_size(odi_worker *worker, uint32_t band)
{
    return has_ring(&worker->deques[band]) || odi_deque_make_ring(&worker->deques[band])
               ? BATCH
               : 1;
}

/* Takes up to `most` jobs from an injector: returns the first and pushes the others into the empty deque. */
static bool claim(odi_worker *worker, odi_site *site, uint32_t band, size_t most,
                  odi_entry *job)
{
    odi_injector *injector = &site->injectors[band];
    odi_entry batch[BATCH];

    if (odi_injector_size(injector) == 0)
        return false;
    odi_read_begin();
    size_t count = odi_injector_claim(injector, batch, most < BATCH ? most : batch_size(worker, band));
    odi_read_end();
    if (count == 0)
        return false;

    odi_count(&worker->counters.injector_claims, 1);
    odi_count(&worker->counters.injector_jobs, count);
    *job = batch[0];
    if (count > 1) {
        keep_rest(worker, band, batch, count);
        worker->batch_left = (uint32_t)count - 1;
    }
    return true;
}

static bool look_around(odi_worker *worker, uint32_t first, size_t most, uint32_t bands, odi_entry *job);

static bool claim_outside(odi_worker *worker, uint32_t band, size_t most, odi_entry *job)
{
    if (ODI_UNLIKELY(++worker->far_tick >= LOOK_FAR_EVERY)) {
        worker->far_tick = 0;
        /* Workers of the other site usually take these jobs. They may all be busy for long, or not exist. The
         * jobs must not wait for this worker's jobs, which may never end. */
        if (look_around(worker, worker->far_looks++, 1, ODI_ALL_BANDS, job))
            return true;
    }
    return claim(worker, worker->site, band, most, job);
}

static bool take_own(odi_worker *worker, uint32_t band, odi_entry *job)
{
    if (odi_deque_take(&worker->deques[band], job)) {
        worker->batch_left -= worker->batch_left > 0;
        return true;
    }
    /* relaxed, owner-only: the deque of this band is empty, so the hint is cleared */
    odi_store_relaxed(&worker->bands, odi_load_relaxed(&worker->bands) & ~(1u << band));
    worker->batch_left = 0;
    return false;
}

/* Finds a job of one band: first in the worker's deque, except when a check of the injectors is due. A batch
 * from an injector is finished first, so that jobs of external threads keep their order. */
static bool find_in_band(odi_worker *worker, uint32_t band, odi_entry *job)
{
    uint32_t own = odi_load_relaxed(&worker->bands) & (1u << band); /* relaxed: owner-only word */

    if (own) {
        if (ODI_UNLIKELY(worker->batch_left == 0 && ++worker->tick >= LOOK_OUTSIDE_EVERY)) {
            worker->tick = 0;
            if (claim_outside(worker, band, 1, job))
                return true;
        }
        if (ODI_LIKELY(take_own(worker, band, job)))
            return true;
    }
    return claim_outside(worker, band, BATCH, job);
}

static bool band_waits(odi_worker *worker, uint32_t band)
{
    return odi_deque_size(&worker->deques[band]) > 0 ||
           odi_injector_size(&worker->site->injectors[band]) > 0;
}

/* Returns the band of `bands` that is served first, by its effective band. With `alternate`, the most
 * often passed-over band wins among equal bands. */
static uint32_t first_of(odi_worker *worker, uint32_t bands, bool alternate)
{
    uint32_t first = lowest_bit(bands), as = odi_band_served_as(first);
    const uint32_t *passed_over = worker->passed_over;

    for (bands &= bands - 1; bands != 0; bands &= bands - 1) {
        uint32_t band = lowest_bit(bands), served_as = odi_band_served_as(band);

        if (served_as < as ||
            (alternate && served_as == as && passed_over[band] > passed_over[first])) {
            first = band;
            as = served_as;
        }
    }
    return first;
}

/* Chooses among several bands: the highest, unless a lower band has waited long enough. An overridden band is
 * served as its waiter's band, in alternation with that band. */
ODI_COLD static uint32_t choose_band(odi_worker *worker, uint32_t bands)
{
    uint32_t waiting = 0;

    for (uint32_t left = bands; left != 0; left &= left - 1) {
        if (band_waits(worker, lowest_bit(left)))
            waiting |= left & -left;
        else
            worker->passed_over[lowest_bit(left)] = 0;
    }
    if (waiting == 0)
        return lowest_bit(bands); /* no band waits: returns one of them, so that the search ends */
    uint32_t first = first_of(worker, waiting, true);
    for (uint32_t others = waiting & ~(1u << first); others != 0; others &= others - 1) {
        uint32_t band = lowest_bit(others);

        if (++worker->passed_over[band] >= MOST_PASSED_OVER) {
            first = band;
            break;
        }
    }
    worker->passed_over[first] = 0;
    return first;
}

/* Returns the bands with jobs in other workers' deques and other sites' injectors. A hint. */
ODI_COLD static uint32_t bands_far(odi_worker *worker)
{
    odi_team *team = worker->team;
    uint32_t found = 0;

    for (int site = 0; site < team->site_count; site++) {
        for (uint32_t band = 0; site != worker->site_index && band < ODI_BANDS; band++)
            found |= odi_injector_size(&team->sites[site].injectors[band]) > 0 ? 1u << band : 0;
    }
    odi_read_begin();
    const odi_table *table = odi_load_acquire(&team->table, W1);
    for (int i = 0; i < table->first[team->site_count]; i++) {
        odi_worker *other = table->workers[i];
        /* relaxed: a hint */
        uint32_t bands = other != worker ? odi_load_relaxed(&other->bands) & ~found : 0;

        for (; bands != 0; bands &= bands - 1)
            found |= odi_deque_size(&other->deques[lowest_bit(bands)]) > 0 ? bands & -bands : 0;
    }
    odi_read_end();
    return found;
}

/* The clock has moved. Selects a band that waits elsewhere and is at least as urgent as the local bands. */
ODI_COLD static void look_far(odi_worker *worker, uint32_t local)
{
    bool lower = ++worker->timed_looks % LOOK_LOWER_EVERY == 0;
    uint32_t as = odi_band_served_as(first_of(worker, local, false)), far = bands_far(worker), wanted = 0;

    for (uint32_t left = far; left != 0; left &= left - 1)
        wanted |= lower || odi_band_served_as(lowest_bit(left)) <= as ? left & -left : 0;
    if (lower || wanted == 0)
        worker->far_bands = wanted;
    else
        worker->far_bands = 1u << first_of(worker, wanted, false);
}

/* Runs before every job while bands wait elsewhere, and after each long job. */
ODI_COLD static bool read_clock(odi_worker *worker, uint32_t local)
{
    int64_t now = odi_clock_coarse();
    bool moved = now != worker->looked_ns;

    if (moved)
        look_far(worker, local);
    worker->looked_ns = now;
    if (moved || worker->far_bands != 0)
        worker->jobs_per_clock = 1;
    else
        worker->jobs_per_clock = worker->jobs_per_clock < LEAST_PER_CLOCK  ? LEAST_PER_CLOCK
                                 : worker->jobs_per_clock < MOST_PER_CLOCK ? worker->jobs_per_clock * 2
                                                                           : MOST_PER_CLOCK;
    worker->clock_tick = worker->jobs_per_clock - 1;
    return worker->far_bands != 0;
}

ODI_HOT_INLINE bool is_wanted_far(odi_worker *worker, uint32_t local)
{
    return ODI_UNLIKELY(worker->clock_tick-- == 0) && read_clock(worker, local);
}

bool odi_worker_is_wanted_far(odi_worker *worker, uint32_t band)
{
    return is_wanted_far(worker, 1u << band);
}

ODI_COLD static bool take_far(odi_worker *worker, odi_entry *job)
{
    uint32_t wanted = worker->far_bands;

    worker->far_bands = 0;
    return look_around(worker, worker->far_looks++, 1, wanted, job);
}

static bool find_overridden(odi_worker *worker, uint32_t bands, odi_entry *job);

bool odi_worker_find_local(odi_worker *worker, odi_entry *job)
{
    /* relaxed, both: hints; the last check before a sleep reads the queues themselves */
    uint32_t bands = odi_load_relaxed(&worker->bands) |
                     odi_load_relaxed(&worker->site->bands);

    /* relaxed: a hint */
    if (ODI_UNLIKELY((bands & (bands - 1)) != 0 && odi_load_relaxed(&odi_overrides.bands) != 0) &&
        find_overridden(worker, bands, job))
        return true;
    if (bands != 0 && is_wanted_far(worker, bands) && take_far(worker, job))
        return true;
    while (bands != 0) {
        uint32_t band = ODI_LIKELY((bands & (bands - 1)) == 0) ? lowest_bit(bands)
                                                                : choose_band(worker, bands);
        if (find_in_band(worker, band, job))
            return true;
        bands &= ~(1u << band);
    }
    return false;
}

/* Leaves a single job to its owner for a short pause. The owner often takes the job right after the job that
 * submitted it, so a chain of jobs stays with one worker. After the pause a thief may take the job. */
static bool owner_takes_lone(odi_worker *worker, odi_deque *deque)
{
    int64_t top = odi_load_relaxed(&deque->top); /* relaxed: a hint, both loads */

    if (odi_deque_size(deque) != 1)
        return false;
    int64_t now = odi_clock_now();
    pause_until(worker, now + LONE_PAUSE_NS);
    if (odi_load_relaxed(&deque->top) == top)
        return false;
    worker->beside_chain_ns = now;
    return true;
}

/* Steals up to half of the jobs in the victim's most urgent of these bands. */
static bool steal_from(odi_worker *worker, odi_worker *victim, int distance, size_t most,
                       uint32_t bands, odi_entry *job)
{
    odi_entry batch[BATCH];

    /* relaxed, both: hints */
    bands &= odi_load_relaxed(&victim->bands);
    bool plain = odi_load_relaxed(&odi_overrides.bands) == 0;
    for (uint32_t band; bands != 0; bands &= ~(1u << band)) {
        band = ODI_LIKELY(plain) ? lowest_bit(bands) : first_of(worker, bands, false);
        if (most == BATCH && owner_takes_lone(worker, &victim->deques[band]))
            continue;
        size_t count = odi_deque_steal(&victim->deques[band], batch,
                                       most < BATCH ? most : batch_size(worker, band));
        if (count == 0)
            continue;
        if (most == BATCH)
            worker->caught_ns = count < SMALL_CATCH ? odi_clock_now() : 0;
        odi_count(&worker->counters.steals[distance], 1);
        odi_count(&worker->counters.stolen[distance], count);
        if (odi_traces()) /* relaxed: constant since it has jobs */
            odi_trace(ODI_TRACE_STEAL, band, (void *)(intptr_t)odi_load_relaxed(&victim->thread_id), count);
        *job = batch[0];
        keep_rest(worker, band, batch, count);
        return true;
    }
    return false;
}

/* Steals from the workers of one site, starting at a random worker so that thieves spread out. */
static bool steal_at(odi_worker *worker, const odi_table *table, int site, int distance,
                     size_t most, uint32_t bands, odi_entry *job)
{
    int first = table->first[site];
    int count = table->first[site + 1] - first;

    if (count == 0)
        return false;
    int start = (int)odi_rng_below(&worker->random, (uint32_t)count);
    for (int i = 0; i < count; i++) {
        odi_worker *victim = table->workers[first + (start + i) % count];

        if (victim != worker && steal_from(worker, victim, distance, most, bands, job))
            return true;
    }
    return false;
}

/* Takes up to `most` jobs of `bands` from other sites' injectors and other workers. It starts at the site of
 * rank `first`, nearest first. A rotating start keeps distant jobs from waiting while nearer jobs exist. */
static bool look_around(odi_worker *worker, uint32_t first, size_t most, uint32_t bands, odi_entry *job)
{
    odi_team *team = worker->team;
    const int *order = team->site_order[worker->site_index];
    uint32_t sites = (uint32_t)team->site_count;
    bool found = false;

    odi_read_begin();
    const odi_table *table = odi_load_acquire(&team->table, W1);
    for (uint32_t i = 0; i < sites && !found; i++) {
        uint32_t rank = (first + i) % sites;

        for (uint32_t left = rank > 0 ? bands : 0; left != 0 && !found; left &= left - 1)
            found = claim(worker, &team->sites[order[rank]], lowest_bit(left), most, job);
        found = found || steal_at(worker, table, order[rank], team->site_classes[worker->site_index][rank], most, bands, job);
    }
    odi_read_end();
    return found;
}

/* Several of `bands` have local work. A band that a waiter overrides to a higher urgency than these may have
 * jobs elsewhere, most likely on the waiter's worker. */
ODI_COLD static bool find_overridden(odi_worker *worker, uint32_t bands, odi_entry *job)
{
    uint32_t waiting = 0, wanted = 0, best;
    uint32_t yields = odi_load_relaxed(&odi_overrides.yields); /* relaxed: a hint */

    if (ODI_UNLIKELY(yields & 1 && yields != worker->yields_seen)) {
        worker->yields_seen = yields;
        odi_thread_yield(); /* see tell_drained in run.c */
    }
    if (worker->override_tick++ % LOOK_FOR_OVERRIDDEN_EVERY != 0)
        return false;
    for (uint32_t left = bands; left != 0; left &= left - 1)
        waiting |= band_waits(worker, lowest_bit(left)) ? left & -left : 0;
    if (waiting == 0)
        return false; /* the worker will search everywhere */
    best = odi_band_served_as(first_of(worker, waiting, false));
    for (uint32_t band = 0; band < ODI_BANDS; band++) {
        uint32_t as = odi_band_served_as(band);

        wanted |= as < band && as < best ? 1u << band : 0;
    }
    return wanted != 0 && look_around(worker, 0, 1, wanted, job);
}

bool odi_worker_other_bands(odi_worker *worker, uint32_t band)
{
    /* relaxed, both: hints */
    uint32_t bands = odi_load_relaxed(&worker->bands) |
                     odi_load_relaxed(&worker->site->bands);

    return (bands & ~(1u << band)) != 0;
}

bool odi_worker_find_elsewhere(odi_worker *worker, odi_entry *job)
{
    pause_before_stealing(worker);
    bool found = look_around(worker, 0, BATCH, ODI_ALL_BANDS, job) || odi_worker_steal_fork(worker, job);
    if (!found)
        odi_count(&worker->counters.failed_steals, 1);
    return found;
}
