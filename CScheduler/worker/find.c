#include "worker/find.h"

#include "base/rng.h"
#include "os/clock.h"
#include "os/thread.h"
#include "worker/override.h"
#include "worker/recruit.h"

/* A worker that has work of its own looks at its injectors after this many takes. */
enum { LOOK_OUTSIDE_EVERY = 61 };

/* After so many such looks and claims, one goes farther: to another worker's deque, and to another site's
 * injectors. */
enum { LOOK_FAR_EVERY = 8 };

/* A lower band that waits is served at the latest after this many jobs of higher ones. */
enum { MOST_PASSED_OVER = 256 };

/* With work of its own, and a waiter for a lower band's that is not here, a worker looks for it
 * elsewhere at one take of so many. */
enum { LOOK_FOR_OVERRIDDEN_EVERY = 8 };

/* A worker that always has work reads the coarse clock after each long job, or after this many jobs, twice as many each
 * time that the clock has not moved. When the clock has moved, the worker looks for what waits elsewhere. So such work
 * waits for milliseconds, not for the other worker's job. */
enum { LEAST_PER_CLOCK = 8, MOST_PER_CLOCK = 64 };

/* Every so many such looks take lower bands too. */
enum { LOOK_LOWER_EVERY = 16 };

enum { BATCH = ODI_STEAL_BATCH };

/* After bringing back less than this, a thief leaves the others alone for a moment: it has
 * caught up with whoever fills their deques, and every further look would take the cache
 * lines from under that worker's hands. Longer jobs never notice, because the moment has
 * passed when they are done. (The same pause before an injector gained nothing.) */
enum { SMALL_CATCH = BATCH / 2, STEAL_PAUSE_NS = 1000 };

/* Shorter, and the looks themselves take the cache lines from the chain's worker. */
enum { LONE_PAUSE_NS = 3000 };

/* Ended by: the clock, and by work from outside. */
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

/* Keeps what follows the first of `count` jobs. The deque is empty and its ring holds more
 * than a batch, so pushing cannot fail. */
static void keep_rest(odi_worker *worker, uint32_t band, const odi_entry *batch, size_t count)
{
    for (size_t i = 1; i < count; i++)
        (void)odi_worker_push(worker, band, batch[i]);
    /* Between the catch and here nobody could see them: who looked, and went to sleep, is
     * woken again. */
    if (count > 1)
        odi_team_publish(worker->team, worker->site);
}

/* The most jobs that a claim or steal for `band` may bring: one, as long as the deque has no
 * ring to keep others in. */
static size_t batch_size(odi_worker *worker, uint32_t band)
{
    return has_ring(&worker->deques[band]) || odi_deque_make_ring(&worker->deques[band])
               ? BATCH
               : 1;
}

/* Takes up to `most` jobs from an injector: the first to run, the others into the empty deque. */
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
        /* What waits there has workers of its own as a rule, but they may all be busy for long, or there are none;
         * it must not wait for this worker's jobs to end, which they may never do. */
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
    /* relaxed, owner-only: the hint ends where the deque does */
    odi_store_relaxed(&worker->bands, odi_load_relaxed(&worker->bands) & ~(1u << band));
    worker->batch_left = 0;
    return false;
}

/* The job of one band: what the worker has first, unless it is time to look outside. What
 * came in one batch from outside is finished first, so that outside work keeps its order. */
static bool find_in_band(odi_worker *worker, uint32_t band, odi_entry *job)
{
    uint32_t own = odi_load_relaxed(&worker->bands) & (1u << band); /* relaxed, owner's */

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

/* The band among `bands` that is served first: by what they are served as, and of equals, where
 * they take turns, the one that was passed over most often. */
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

/* Several bands may hold work: the highest, unless a lower one has waited long enough. What somebody has overridden
 * is served as that, in turns with the band itself. */
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
        return lowest_bit(bands); /* nobody waits: one of the bands asked for, so that the search ends */
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

/* The bands of what lies in other workers' deques and in other sites' injectors. A hint. */
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

/* The clock has moved. Which band of those that wait elsewhere comes before, or as often as, the ones at hand. */
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

/* As long as bands are found waiting, and right after a long job, each job comes here. */
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
    /* relaxed, both: hints; the last look before sleeping goes by the queues themselves */
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

/* A lone job its owner takes a moment later, as a rule: where the job before it has submitted it, and ends. A chain of
 * those stays with one worker. It is a thief's once it has lain there for the pause. */
static bool owner_takes_lone(odi_worker *worker, odi_deque *deque)
{
    int64_t top = odi_load_relaxed(&deque->top); /* relaxed: a hint, as below */

    if (odi_deque_size(deque) != 1)
        return false;
    int64_t now = odi_clock_now();
    pause_until(worker, now + LONE_PAUSE_NS);
    if (odi_load_relaxed(&deque->top) == top)
        return false;
    worker->beside_chain_ns = now;
    return true;
}

/* Up to half of what the victim's highest busy band of these holds. */
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
        *job = batch[0];
        keep_rest(worker, band, batch, count);
        return true;
    }
    return false;
}

/* One site's workers, beginning at a random one so that thieves spread. */
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

/* Up to `most` jobs of `bands` that lie elsewhere: in other sites' injectors, and with other workers. Nearest first, but
 * that all begin with the `first` on: what is far would wait for as long as there is something near. */
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

/* There is work of several of `bands` at hand. What a waiter has overridden by more than any of that is
 * served as may lie elsewhere: with the waiter, most likely. */
ODI_COLD static bool find_overridden(odi_worker *worker, uint32_t bands, odi_entry *job)
{
    uint32_t waiting = 0, wanted = 0, best;
    uint32_t yields = odi_load_relaxed(&odi_overrides.yields); /* relaxed: a hint */

    if (ODI_UNLIKELY(yields & 1 && yields != worker->yields_seen)) {
        worker->yields_seen = yields;
        odi_thread_yield(); /* see run.c */
    }
    if (worker->override_tick++ % LOOK_FOR_OVERRIDDEN_EVERY != 0)
        return false;
    for (uint32_t left = bands; left != 0; left &= left - 1)
        waiting |= band_waits(worker, lowest_bit(left)) ? left & -left : 0;
    if (waiting == 0)
        return false; /* it will look everywhere */
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
