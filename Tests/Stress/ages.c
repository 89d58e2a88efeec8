/* How old, in grace periods, are the rings that thieves read? As rcutorture asks it of its own objects:
 * each steal counts the oldest ring that it read by the grace periods since that was retired. 0 is a
 * ring in use, 1 one that was retired a moment ago; whoever reads an older one may as well read freed
 * memory, and the run has failed.
 *
 * The file queue/deque.c itself, with small rings, on the engine's own reclaimer. Rings come from an
 * arena of ours, so that a freed one can be read and is known. Grace periods are counted by a thread of
 * ours, too: the reclaimer may be what is wrong. Now and then somebody dawdles between two steps: a
 * thief while it reads a ring, an owner before it publishes one.
 */
#include "Support/stress.h"

#include <stdalign.h>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/pages.h"
#include "reclaim/grace.h"
#include "reclaim/reclaim.h"

static void note_read(const void *word);
static void dawdle_before(int edge);
static void *arena_take(size_t bytes, int node);
static void arena_give_back(void *ring, size_t bytes);
/* Unused where a mutant retires nothing. */
static void stamp_and_retire(odi_retired *chain, odi_destroy *destroy) __attribute__((unused));

#define ODI_DEQUE_MINIMUM 4
#define ODI_DEQUE_MAXIMUM 128
#define ODI_STEAL_BATCH 4
#define odi_pages_new arena_take
#define odi_pages_free arena_give_back
#define odi_retire stamp_and_retire
#undef odi_load_relaxed
#define odi_load_relaxed(p)                                                               \
    __extension__({                                                                       \
        __typeof__(atomic_load_explicit((p), memory_order_relaxed)) value_ =              \
            atomic_load_explicit((p), memory_order_relaxed);                              \
        note_read(p);                                                                     \
        value_;                                                                           \
    })
#undef odi_store_release
#define odi_store_release(p, v, edge)                                                     \
    (dawdle_before(ODI_EDGE_##edge), atomic_store_explicit((p), (v), memory_order_release))
#define odi_deque_init aged_init
#define odi_deque_adopt aged_adopt
#define odi_deque_free aged_free
#define odi_deque_make_ring aged_make_ring
#define odi_deque_push aged_push
#define odi_deque_take aged_take
#define odi_deque_take_wanted aged_take_wanted
#define odi_deque_steal aged_steal
#define odi_deque_size aged_size
#define odi_deque_shrink aged_shrink
#include "queue/deque.c"
#undef odi_retire

/* ---- grace periods ---- */

/* As many have begun, and ended. */
static atomic_ullong begun, ended;
static atomic_bool over;

static void *count_grace_periods(void *unused)
{
    while (!atomic_load(&over)) {
        uint64_t number = atomic_fetch_add(&begun, 1) + 1;

        odi_grace_wait();
        atomic_store(&ended, number);
        odi_clock_sleep(50 * ODI_MICROSECOND);
    }
    return unused;
}

/* ---- the arena ---- */

/* A freed ring is not used again before this age, and what is older counts as this old. */
enum { OLDEST = 10 };

enum { CELLS = 2048, CELL_BYTES = 4096, POISON = 0xa5 };

typedef struct {
    atomic_ullong retired; /* the grace period that was the last to have begun, plus one; 0: in use */
    atomic_bool freed;
    uint64_t freed_at; /* under the arena's lock */
    alignas(ODI_CACHE_PAIR) char ring[CELL_BYTES - ODI_CACHE_PAIR];
} cell;

static struct {
    pthread_mutex_t lock;
    cell cells[CELLS];
    cell *unused[CELLS]; /* the one that was freed first comes first */
    uint64_t taken, given_back;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void open_arena(void)
{
    for (int i = 0; i < CELLS; i++)
        arena.unused[i] = &arena.cells[i];
    arena.given_back = CELLS;
}

/* Lock held. */
static bool is_ripe(const cell *it)
{
    return !atomic_load(&it->freed) || atomic_load(&ended) >= it->freed_at + OLDEST;
}

/* NULL, as where memory is short, while all that is free has been so for too short a time. */
static void *arena_take(size_t bytes, int node)
{
    cell *it = NULL;

    child_expects(bytes <= sizeof it->ring);
    pthread_mutex_lock(&arena.lock);
    if (arena.taken < arena.given_back && is_ripe(arena.unused[arena.taken % CELLS]))
        it = arena.unused[arena.taken++ % CELLS];
    pthread_mutex_unlock(&arena.lock);
    if (it == NULL)
        return NULL;
    memset(it->ring, 0, bytes);
    atomic_store(&it->freed, false);
    atomic_store(&it->retired, 0);
    return it->ring;
}

static cell *cell_of(const void *word)
{
    uintptr_t offset = (uintptr_t)word - (uintptr_t)arena.cells;

    return offset < sizeof arena.cells ? &arena.cells[offset / sizeof(cell)] : NULL;
}

/* What a late thief needs to find its way stays; the entries do not. */
static void arena_give_back(void *ring, size_t bytes)
{
    cell *it = ring != NULL ? cell_of(ring) : NULL;

    if (it == NULL)
        return;
    atomic_store(&it->freed, true);
    memset((odi_ring *)ring + 1, POISON, bytes - sizeof(odi_ring));
    pthread_mutex_lock(&arena.lock);
    it->freed_at = atomic_load(&begun);
    arena.unused[arena.given_back++ % CELLS] = it;
    pthread_mutex_unlock(&arena.lock);
}

/* ---- ages ---- */

static atomic_uint rings_retired;

/* By a read-modify-write: a grace period that begins after it has seen what the owner unpublished. */
static void stamp_and_retire(odi_retired *ring, odi_destroy *destroy)
{
    uint64_t now = atomic_fetch_add(&begun, 0);

    atomic_store(&cell_of(ring)->retired, now + 1);
    atomic_fetch_add(&rings_retired, 1);
    odi_retire(ring, destroy);
}

/* A freed ring is too old whatever the grace periods say. */
static unsigned age_of(const cell *it)
{
    uint64_t retired = atomic_load(&it->retired), now = atomic_load(&ended), age = 0;

    if (retired > 0)
        age = now >= retired ? now - retired + 2 : 1;
    if (atomic_load(&it->freed) && age < 2)
        age = 2;
    return age < OLDEST ? (unsigned)age : OLDEST;
}

/* ---- who dawdles ---- */

static _Thread_local prng choices;
static _Thread_local struct {
    bool inside, has_read;
    unsigned oldest;
} stealing;

static void spin(uint32_t rounds)
{
    while (rounds-- > 0)
        odi_spin_pause();
}

/* Until the ring goes out of use, if it does so soon, and then for longer or shorter than it takes to
 * free one. */
static void linger(const cell *it)
{
    int64_t give_up = odi_clock_after(3 * ODI_MILLISECOND);

    while (atomic_load(&it->retired) == 0 && odi_clock_now() < give_up)
        odi_clock_sleep(50 * ODI_MICROSECOND);
    odi_clock_sleep(prng_below(&choices, 4) * ODI_MILLISECOND);
}

/* A thief has read a word of a ring and may read the next one. */
static void note_read(const void *word)
{
    cell *it = stealing.inside ? cell_of(word) : NULL;

    if (it == NULL)
        return;
    if (prng_one_in(&choices, 100))
        linger(it);
    else if (prng_one_in(&choices, 20))
        spin(prng_below(&choices, 500));
    unsigned age = age_of(it);
    stealing.has_read = true;
    if (age > stealing.oldest)
        stealing.oldest = age;
}

/* An owner that has filled a ring: now and then until two grace periods have passed. */
static void dawdle_before(int edge)
{
    uint64_t enough = atomic_load(&begun) + 2;
    int64_t give_up = odi_clock_after(10 * ODI_MILLISECOND);

    if (edge != ODI_EDGE_D2 || !prng_one_in(&choices, 16))
        return;
    while (atomic_load(&ended) < enough && odi_clock_now() < give_up)
        odi_clock_sleep(50 * ODI_MICROSECOND);
}

/* ---- owners and thieves ---- */

enum { OWNERS = 2, DEQUES_EACH = 8, THIEVES = 3, MOST_AT_ONCE = 150 };

static odi_deque deques[OWNERS * DEQUES_EACH];
static uint32_t enough_rings;
static atomic_ullong steals[OLDEST + 1]; /* by the age of the oldest ring that each read */
static atomic_bool failed;
static atomic_ullong pushed, taken, sum_pushed, sum_taken, foreign;

static void note_taken(odi_entry entry)
{
    atomic_fetch_add(&foreign, entry.context != ~entry.code);
    atomic_fetch_add(&sum_taken, entry.code);
    atomic_fetch_add(&taken, 1);
}

static void push_some(odi_deque *deque, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        uint64_t number = odi_rng_next(&choices.state);

        if (!odi_deque_push(deque, (odi_entry){number, ~number}))
            return;
        atomic_fetch_add(&sum_pushed, number);
        atomic_fetch_add(&pushed, 1);
    }
}

static void take_some(odi_deque *deque, uint32_t most)
{
    odi_entry entry;

    for (uint32_t i = 0; i < most && odi_deque_take(deque, &entry); i++)
        note_taken(entry);
}

static void *own(void *raw)
{
    odi_deque *mine = raw;

    choices = prng_for(stress_seed, (uint64_t)(mine - deques));
    for (int i = 0; i < DEQUES_EACH; i++)
        odi_deque_adopt(&mine[i]);
    while (atomic_load(&rings_retired) < enough_rings && !atomic_load(&failed)) {
        odi_deque *deque = &mine[prng_below(&choices, DEQUES_EACH)];

        push_some(deque, prng_below(&choices, MOST_AT_ONCE));
        take_some(deque, prng_below(&choices, MOST_AT_ONCE));
        if (prng_one_in(&choices, 2))
            odi_deque_shrink(deque);
    }
    for (int i = 0; i < DEQUES_EACH; i++)
        take_some(&mine[i], UINT32_MAX);
    return NULL;
}

/* A steal is over. */
static void note_age(void)
{
    if (stealing.has_read)
        atomic_fetch_add(&steals[stealing.oldest], 1);
    if (stealing.oldest >= 2)
        atomic_store(&failed, true);
    stealing.has_read = false;
    stealing.oldest = 0;
}

static void *steal_on(void *raw)
{
    odi_entry entries[ODI_STEAL_BATCH];

    choices = prng_for(stress_seed, 1000 + (uint64_t)(uintptr_t)raw);
    odi_reader_join();
    while (!atomic_load(&over)) {
        odi_deque *deque = &deques[prng_below(&choices, OWNERS * DEQUES_EACH)];

        odi_read_begin();
        stealing.inside = true;
        size_t count = odi_deque_steal(deque, entries, ODI_STEAL_BATCH);
        stealing.inside = false;
        odi_read_end();
        note_age();
        for (size_t i = 0; i < count; i++)
            note_taken(entries[i]);
    }
    odi_reader_leave();
    return NULL;
}

/* ---- a run ---- */

static void tell_ages(void)
{
    char text[512];
    int length = 0;

    for (int age = 0; age <= OLDEST; age++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %llu",
                           (unsigned long long)atomic_load(&steals[age]));
    dprintf(atomic_load(&failed) ? STDERR_FILENO : STDOUT_FILENO,
            "    %u rings retired in %llu grace periods; steals by the age of the oldest ring read, 0 to "
            "%d:%s\n", atomic_load(&rings_retired), atomic_load(&ended), OLDEST, text);
}

static void run(void *raw)
{
    const bool *one_cpu = raw;
    pthread_t owners[OWNERS], thieves[THIEVES], counter;

    if (*one_cpu)
        keep_to_one_cpu();
    enough_rings = stress_count(4000, 800);
    open_arena();
    for (int i = 0; i < OWNERS * DEQUES_EACH; i++)
        odi_deque_init(&deques[i], INT64_MAX - 100 * i, ODI_ANY_NODE);
    pthread_create(&counter, NULL, count_grace_periods, NULL);
    start_threads(thieves, THIEVES, steal_on);
    for (int i = 0; i < OWNERS; i++)
        pthread_create(&owners[i], NULL, own, &deques[i * DEQUES_EACH]);
    join_threads(owners, OWNERS);
    atomic_store(&over, true);
    join_threads(thieves, THIEVES);
    pthread_join(counter, NULL);
    tell_ages();
    child_expects(!atomic_load(&failed));
    child_expects(atomic_load(&steals[0]) > 0 && atomic_load(&steals[1]) > 0);
    child_expects(atomic_load(&foreign) == 0);
    child_expects(atomic_load(&taken) == atomic_load(&pushed));
    child_expects(atomic_load(&sum_taken) == atomic_load(&sum_pushed));
    odi_reclaim_drain();
    for (int i = 0; i < OWNERS * DEQUES_EACH; i++)
        odi_deque_free(&deques[i]);
    child_expects(arena.given_back == arena.taken + CELLS);
}

TEST(no_thief_reads_a_ring_that_is_older_than_one_grace_period)
{
    bool two_cpus = false, one_cpu = true;

    stress_run("ages", "retired rings", run, &two_cpus);
    stress_run("ages", "retired rings, one CPU", run, &one_cpu);
}

STRESS_PROGRAM
