/* The line of a line: blocks, and nodes where memory is short, in one order. */
#include "Support/memory_failure.h"
#include "Support/prng.h"
#include "Support/watchdog.h"

#include "queue/fifo.h"

enum { MOST = 300, STEPS = 400000 };

static struct {
    odi_fifo fifo;
    uint64_t waiting[MOST]; /* what it has to hold, oldest first */
    int count;
    odi_entry_node nodes[MOST];
    bool out[MOST]; /* the node is in the line */
    uint64_t with_node[MOST]; /* and its entry */
    uint64_t pushed;
} line;

static int free_node(void)
{
    for (int each = 0; each < MOST; each++) {
        if (!line.out[each])
            return each;
    }
    return -1;
}

static void push(bool with_node)
{
    int node = with_node ? free_node() : -1;
    odi_entry entry = {++line.pushed, 0};
    bool kept = odi_fifo_push(&line.fifo, entry, node >= 0 ? &line.nodes[node] : NULL);

    assert_true(kept || node < 0);
    if (!kept)
        return;
    line.waiting[line.count++] = entry.code;
    if (node >= 0 && line.fifo.last == &line.nodes[node].link) {
        line.out[node] = true;
        line.with_node[node] = entry.code;
    }
}

/* From here on its owner may do what he likes with it. */
static void is_taken(uint64_t code)
{
    for (int each = 0; each < MOST; each++) {
        if (line.out[each] && line.with_node[each] == code) {
            line.out[each] = false;
            memset(&line.nodes[each], 0xEE, sizeof line.nodes[each]);
        }
    }
}

static void pop(void)
{
    odi_entry entry, next;
    bool had = line.count > 0;

    assert_int_equal(odi_fifo_peek(&line.fifo, &next), had);
    assert_int_equal(odi_fifo_pop(&line.fifo, &entry), had);
    if (!had)
        return;
    assert_int_equal(entry.code, line.waiting[0]);
    assert_int_equal(next.code, entry.code);
    is_taken(entry.code);
    memmove(line.waiting, line.waiting + 1, (size_t)--line.count * sizeof *line.waiting);
}

/* Behind the last block, where it finds them again, and frees them. */
static int spares_of(const odi_fifo *fifo)
{
    int spares = 0;

    for (const odi_link *each = fifo->last; each != NULL && each->next != NULL; each = each->next)
        spares++;
    return spares;
}

static bool is_third(const void *of, odi_entry entry)
{
    return entry.code % 3 == *(const uint64_t *)of;
}

static void sift(uint64_t rest)
{
    odi_fifo_sieve sieve = {.takes = is_third, .of = &rest};
    uint32_t expected = 0;
    int kept = 0;

    odi_fifo_sift(&line.fifo, &sieve);
    for (int each = 0; each < line.count; each++) {
        if (line.waiting[each] % 3 != rest || expected == ODI_SIEVE_MOST) {
            line.waiting[kept++] = line.waiting[each];
            continue;
        }
        assert_true(expected < sieve.count);
        assert_int_equal(sieve.entries[expected++].code, line.waiting[each]);
        is_taken(line.waiting[each]);
    }
    assert_int_equal(sieve.count, expected);
    line.count = kept;
}

MEMORY_TEST(what_waits_in_nodes_keeps_its_place_among_what_waits_in_blocks)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        prng random = prng_for(seed, 0);
        int steps = seed % 2 ? 20 : 400; /* of growing, and of shrinking: it gets further blocks, or begins again with its first */

        memset(&line, 0, sizeof line);
        for (int step = 0; step < STEPS / 20; step++) {
            uint64_t choice = prng_below(&random, 16), pushes = step / steps % 2 ? 3 : 10; /* it empties again and again */

            atomic_store(&grants, prng_one_in(&random, 4) ? -1 : 0);
            if (choice < pushes && line.count < MOST)
                push(prng_one_in(&random, 2));
            else if (choice < 14)
                pop();
            else
                sift(prng_below(&random, 3));
            assert_int_equal(line.fifo.count, line.count);
            assert_int_equal(line.fifo.spare_count, spares_of(&line.fifo));
        }
        while (line.count > 0)
            pop();
        odi_fifo_free(&line.fifo);
        atomic_store(&grants, -1);
    }
}

static bool is_later(const void *than, odi_entry entry)
{
    return entry.code > *(const uint64_t *)than;
}

/* A cancel takes the newest out, with the last block's only ones among them. */
TEST(what_is_pushed_after_the_last_block_was_emptied_comes_once)
{
    for (uint64_t kept = 1; kept <= 200; kept++) {
        odi_fifo fifo = {0};
        odi_fifo_sieve sieve = {.takes = is_later, .of = &kept};
        odi_entry entry;

        for (uint64_t code = 1; code <= kept + 10; code++)
            assert_true(odi_fifo_push(&fifo, (odi_entry){code, 0}, NULL));
        odi_fifo_sift(&fifo, &sieve);
        assert_int_equal(sieve.count, 10);
        for (uint64_t code = 1; code <= kept; code++) {
            assert_true(odi_fifo_pop(&fifo, &entry));
            assert_int_equal(entry.code, code);
        }
        assert_true(odi_fifo_push(&fifo, (odi_entry){1000, 0}, NULL));
        assert_true(odi_fifo_pop(&fifo, &entry));
        assert_int_equal(entry.code, 1000);
        assert_false(odi_fifo_pop(&fifo, &entry));
        odi_fifo_free(&fifo);
    }
}

TEST(spares_behind_a_node_are_used_again)
{
    enum { JOBS = 6 + 2 * 62 }; /* a short block, and two others */

    odi_fifo fifo = {0};
    odi_entry_node node;
    odi_entry entry;

    for (uint64_t code = 1; code <= JOBS; code++)
        assert_true(odi_fifo_push(&fifo, (odi_entry){code, 0}, NULL));
    assert_true(odi_fifo_push(&fifo, (odi_entry){JOBS + 1, 0}, &node));
    assert_ptr_equal(fifo.last, &node.link);
    for (uint64_t code = 1; code <= JOBS + 1; code++) {
        assert_true(odi_fifo_pop(&fifo, &entry));
        assert_int_equal(entry.code, code);
    }
    assert_non_null(fifo.first); /* one of the two, and the other is its spare */
    assert_int_equal(fifo.spare_count, 1);
    odi_fifo_free(&fifo);
    assert_null(fifo.first);
}

TEST(a_fifo_that_is_busy_keeps_its_block)
{
    odi_fifo fifo = {0};
    odi_entry entry;
    int freed = 0;

    for (int round = 0; round < 2 * ODI_FIFO_RESTS; round++) {
        assert_true(odi_fifo_push(&fifo, (odi_entry){1, 0}, NULL));
        assert_true(odi_fifo_pop(&fifo, &entry));
        odi_fifo_rest(&fifo);
        freed += fifo.first == NULL;
    }
    assert_int_equal(freed, ODI_FIFO_RESTS);
    odi_fifo_free(&fifo);
    assert_null(fifo.first);
}

TEST(a_fifo_that_was_long_keeps_some_spares_and_none_as_it_rests)
{
    enum { JOBS = 20000 };
    odi_fifo fifo = {.rests = ODI_FIFO_RESTS};
    odi_entry entry;

    for (uint64_t code = 1; code <= JOBS; code++)
        assert_true(odi_fifo_push(&fifo, (odi_entry){code, 0}, NULL));
    while (odi_fifo_pop(&fifo, &entry)) {
    }
    assert_int_equal(spares_of(&fifo), 16);
    odi_fifo_rest(&fifo);
    assert_null(fifo.first);
}

GUARDED_PROGRAM
