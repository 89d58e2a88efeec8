/* base/: the generator, the sentences of a broken promise, the register of edges. */
#include <sched.h>

#include "Support/process.h"
#include "Support/watchdog.h"

#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/edges.h"
#include "base/invariant.h"
#include "base/rng.h"

TEST(every_seed_gives_a_state_that_moves)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        uint64_t word = odi_rng_seed(seed), before = word;

        assert_true(word != 0);
        (void)odi_rng_next(&word);
        assert_true(word != before && word != 0);
    }
    /* The one seed that hashes to the generator's fixed point is replaced. */
    uint64_t wrapped = odi_rng_seed((uint64_t)0 - 0x9e3779b97f4a7c15u);
    assert_true(wrapped != 0);
}

TEST(numbers_below_a_bound_stay_below_and_all_occur)
{
    for (uint32_t bound = 1; bound <= 64; bound++) {
        uint64_t word = odi_rng_seed(bound), seen = 0;

        for (int i = 0; i < 4096; i++) {
            uint32_t number = odi_rng_below(&word, bound);

            assert_true(number < bound);
            seen |= UINT64_C(1) << number;
        }
        assert_true(seen == (bound == 64 ? UINT64_MAX : (UINT64_C(1) << bound) - 1));
    }
}

TEST(numbers_below_a_bound_are_spread_evenly)
{
    enum { BOUND = 10, DRAWS = 100000 };
    uint64_t word = odi_rng_seed(7);
    int count[BOUND] = {0};

    for (int i = 0; i < DRAWS; i++)
        count[odi_rng_below(&word, BOUND)]++;
    for (int i = 0; i < BOUND; i++)
        assert_in_range(count[i], DRAWS / BOUND * 9 / 10, DRAWS / BOUND * 11 / 10);
}

static void trap(void *unused) { odi_trap("odi_example(): %s is %d", "the number", 42); }

TEST(a_trap_says_one_sentence_and_aborts)
{
    outcome it = in_a_child(trap, NULL, 30);
    assert_non_null(strstr(it.said, "overdrive: odi_example(): the number is 42\n"));
    assert_true(WIFSIGNALED(it.status) && WTERMSIG(it.status) == SIGABRT);
}

static void warn_at_length(void *unused)
{
    char text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    odi_warn("%s", text);
    odi_warn("short");
}

TEST(a_sentence_that_is_too_long_is_cut_and_still_ends_the_line)
{
    outcome it = in_a_child(warn_at_length, NULL, 30);
    char *end = strchr(it.said, '\n');

    assert_int_equal(it.status, 0);
    assert_non_null(end);
    assert_in_range(end - it.said, 500, 511);
    assert_string_equal(end + 1, "overdrive: short\n");
}

static size_t told;
static void note_its_length(const char *sentence) { told = strlen(sentence) > told ? strlen(sentence) : told; }

TEST(who_takes_warnings_is_told_as_much)
{
    odi_warn_to(note_its_length);
    warn_at_length(NULL);
    odi_warn_to(NULL);
    assert_int_equal(told, 511);
}

static void warn_into_the_void(void *unused)
{
    close(STDERR_FILENO);
    odi_warn("nobody hears this");
}

TEST(a_closed_stderr_is_no_reason_to_die) { assert_child_succeeds(warn_into_the_void, NULL); }

static void break_an_invariant(void *unused) { odi_invariant(1 + 1 == 3); }

TEST(a_broken_invariant_names_its_condition) { assert_child_traps(break_an_invariant, NULL, "1 + 1 == 3"); }

TEST(every_edge_has_its_own_number_and_a_sentence)
{
    static const struct {
        int number;
        const char *sentence;
    } edges[] = {
#define ENTRY(edge, sentence) {ODI_EDGE_##edge, sentence},
        ODI_EDGES(ENTRY)
#undef ENTRY
    };

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        assert_int_equal(edges[i].number, i + 1);
        assert_true(strlen(edges[i].sentence) > 10);
    }
}

TEST(read_modify_writes_return_the_value_before)
{
    odi_atomic(uint32_t) word;

    odi_store_relaxed(&word, 5);
    assert_int_equal(odi_add_relaxed(&word, 2), 5);
    assert_int_equal(odi_or_relaxed(&word, 8), 7);
    assert_int_equal(odi_and_relaxed(&word, ~3u), 15);
    assert_int_equal(odi_swap_relaxed(&word, 1), 12);
    uint32_t expected = 2;
    assert_false(odi_cas_relaxed(&word, &expected, 9));
    assert_int_equal(expected, 1);
    assert_true(odi_cas_relaxed(&word, &expected, 9));
    assert_int_equal(odi_load_relaxed(&word), 9);
}

#ifdef ODI_TSAN
CHILDREN_MAY_START_THREADS

/* What a reader and a writer of plain memory do beside the word that they meet on. */
typedef struct {
    bool told;
    int plain;
    odi_atomic(uint32_t) word;
} meeting;

static void *write_plain(void *argument)
{
    meeting *it = argument;

    it->plain = 1;
    odi_fence_release(none);
    if (it->told)
        odi_tsan_release(&it->word);
    odi_store_relaxed(&it->word, 1);
    return NULL;
}

static void read_behind_a_release_fence(void *argument)
{
    meeting *it = argument;
    pthread_t writer;

    child_expects(pthread_create(&writer, NULL, write_plain, it) == 0);
    while (odi_load_relaxed(&it->word) == 0)
        sched_yield();
    if (it->told)
        odi_tsan_acquire(&it->word);
    odi_fence_release(none); /* not the acquire fence that it takes */
    child_expects(it->plain == 1);
    pthread_join(writer, NULL);
}

TEST(a_release_fence_in_a_reader_hides_no_race_from_the_sanitizer)
{
    meeting untold = {0};

    assert_child_traps(read_behind_a_release_fence, &untold, "data race");
}

TEST(what_the_sanitizer_is_told_on_the_word_is_ordered)
{
    meeting told = {.told = true};

    assert_child_succeeds(read_behind_a_release_fence, &told);
}
#endif

GUARDED_PROGRAM
