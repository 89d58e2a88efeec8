/* Trees of forks, of random shapes and leaves, from workers and from external threads, on a pool whose
 * size changes, beside spawned jobs: each branch runs once, and each sum is right. */
#include "Support/pools.h"
#include "Support/stress.h"
#include "worker/forks.h"

enum { GUESTS = 3, ROOTS_OF_WORKERS = 4, DEEPEST = 14 };

static struct {
    od_pool *pool;
    ledger ledger;
    atomic_bool over;
    atomic_int roots;
    atomic_ullong others; /* jobs of another kind, which outlive who submits them */
} world;

typedef struct {
    uint64_t random;
    int depth;
    bool blocks;
    uint32_t issued, ran; /* of the branch and what is below it */
} branch;

/* Some work, or some waiting. */
static void leaf(prng *random, bool blocks)
{
    if (blocks && prng_one_in(random, 4000))
        odi_clock_sleep(MILLISECONDS(1));
    for (uint32_t pause = prng_one_in(random, 50) ? prng_below(random, 2000) : 0; pause > 0; pause--)
        odi_spin_pause();
}

static void run_branch(void *raw);

/* A node: a few children, of which the last runs here. */
static void run_branch(void *raw)
{
    branch *it = raw, children[3];
    od_fork_slot *forks[3];
    prng random = {it->random};
    uint32_t number, count = it->depth == 0 ? 0 : prng_below(&random, 4);

    it->ran = 0;
    it->issued = ledger_issue(&world.ledger, &number);
    if (it->issued == 0)
        return;
    ledger_run(&world.ledger, number);
    it->ran = 1;
    if (count == 0)
        leaf(&random, it->blocks);
    for (uint32_t i = 0; i < count; i++) {
        children[i] = (branch){.random = odi_rng_next(&random.state), .blocks = it->blocks,
                               .depth = it->depth - 1};
        if (i + 1 < count)
            forks[i] = od_fork(run_branch, &children[i]);
        else
            run_branch(&children[i]);
    }
    for (uint32_t i = count; i-- > 0;) {
        if (i + 1 < count)
            od_join(forks[i], run_branch, &children[i]);
        it->issued += children[i].issued;
        it->ran += children[i].ran;
    }
}

static bool grow_one(uint64_t stream, bool blocks)
{
    prng random = prng_for(stress_seed, stream);
    branch root = {.random = odi_rng_next(&random.state), .depth = DEEPEST, .blocks = blocks};

    run_branch(&root);
    child_expects(root.ran == root.issued);
    return root.issued > 0;
}

typedef struct {
    uint64_t stream;
    bool blocks;
} grower;

static void *be_an_external(void *raw)
{
    const grower *it = raw;
    od_fork_scope scope;
    bool more = true;

    for (uint64_t round = 0; more; round++) {
        od_forks_enter(world.pool, &scope);
        more = grow_one(it->stream + round * 64, it->blocks);
        od_forks_leave(&scope);
    }
    return NULL;
}

static void be_a_job(void *raw)
{
    const grower *it = raw;

    for (uint64_t round = 0; grow_one(it->stream + round * 64, it->blocks); round++) {
    }
    atomic_fetch_sub(&world.roots, 1);
}

/* Grows and shrinks the pool, and keeps some jobs of another kind in it. */
static void *disturb(void *unused)
{
    prng random = prng_for(stress_seed, 1000);

    while (!atomic_load(&world.over)) {
        child_expects(od_pool_set_workers(world.pool, 1 + (int)prng_below(&random, 6)) == OD_OK);
        submit_many(world.pool, 20, count_job, &world.others);
        odi_clock_sleep(500 * ODI_MICROSECOND);
    }
    return NULL;
}

static void grow(uint32_t branches, bool blocks, bool disturbed)
{
    pthread_t externals[GUESTS], disturber;
    grower growers[GUESTS + ROOTS_OF_WORKERS];

    ledger_open(&world.ledger, branches);
    world.pool = pool_of(3);
    atomic_store(&world.roots, ROOTS_OF_WORKERS);
    if (disturbed)
        pthread_create(&disturber, NULL, disturb, NULL);
    for (uint64_t i = 0; i < GUESTS + ROOTS_OF_WORKERS; i++) {
        growers[i] = (grower){i, blocks};
        if (i < GUESTS)
            pthread_create(&externals[i], NULL, be_an_external, &growers[i]);
        else
            od_pool_submit(world.pool, OD_BAND_DEFAULT, be_a_job, &growers[i]);
    }
    join_threads(externals, GUESTS);
    child_expects(COMES_TRUE(atomic_load(&world.roots) == 0));
    atomic_store(&world.over, true);
    if (disturbed)
        pthread_join(disturber, NULL);
    child_expects(od_pool_free(world.pool) == OD_OK);
    child_expects(atomic_load(&world.ledger.ran) == atomic_load(&world.ledger.issued));
    child_expects(ledger_close(&world.ledger) == 0);
}

static void grow_trees(void *unused) { grow(stress_count(4000000, 500000), false, false); }
static void grow_trees_disturbed(void *unused) { grow(stress_count(3000000, 300000), true, true); }

static void grow_trees_without_membarrier(void *unused)
{
    odi_membarrier_refused = true;
    grow(stress_count(1500000, 200000), true, true);
}

TEST(each_branch_runs_once)
{
    stress_run("branches", "trees", grow_trees, NULL);
    stress_run("branches", "trees, resized and blocked", grow_trees_disturbed, NULL);
    stress_run("branches", "trees, without membarrier", grow_trees_without_membarrier, NULL);
}

STRESS_PROGRAM
