/* job/: what an entry's two words say, the job count of what is outstanding, groups, watches
 * and the memory that serves one kind for ever. */
#include "Support/clock.h"
#include "Support/job_count.h"
#include "Support/process.h"
#include "Support/threads.h"
#include "Support/watch_wait.h"
#include "Support/watchdog.h"

#include "base/cache_line.h"
#include "job/arena.h"
#include "job/group.h"
#include "job/job.h"
#include "job/label.h"
#include "job/record.h"
#include "job/watch.h"
#include "worker/run.h"

/* ---- the two words ---- */

static int calls;
static void *called_with;

/* The same address, which the compiler does not know: gcc warns of the branch that would take it
 * for an object with an end of its own. */
static void *some(void *context)
{
    __asm__ volatile("" : "+r"(context));
    return context;
}

static void remember(void *context)
{
    calls++;
    called_with = context;
}

/* Before there is any. */
static void reserve_in_little_space(void *unused)
{
    rlim_t most = ((rlim_t)status_field("VmSize") << 10) + ((rlim_t)192 << 20);

    child_expects(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0);
    child_expects(odi_records_reserve());
}

TEST_UNSANITIZED(where_there_is_no_address_space_for_all_records_there_is_some_for_fewer, NULL, NULL)
{
    assert_child_succeeds(reserve_in_little_space, NULL);
}

static void make_many(void *unused)
{
    static const odi_record_owner nobody;

    for (uint32_t i = 0; i < (1u << 21) + 1; i++)
        child_expects(odi_record_new(NULL, &calls, NULL, 2, 0, &nobody, NULL) != NULL);
}

TEST_UNSANITIZED(there_may_be_more_than_two_million_records, NULL, NULL)
{
    assert_child_succeeds(make_many, NULL);
}

TEST(a_plain_job_says_function_context_and_tag)
{
    static const uint32_t tags[] = {0, ODI_TAG_WRAPPED, ODI_TAG_INTERNAL, 3, 12345, ODI_JOB_NEAR_TAGS - 1};

    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        odi_entry job = odi_job_plain(remember, some(&calls), tags[i]);

        assert_true(job.code != 0);
        assert_true((job.code & ODI_JOB_PLAIN) != 0);
        assert_int_equal(odi_job_tag(job), tags[i]);
        calls = 0;
        odi_job_run(job);
        assert_int_equal(calls, 1);
        assert_ptr_equal(called_with, &calls);
    }
}

TEST(a_new_tag_replaces_the_old_one_and_nothing_else)
{
    const uint64_t context = UINT64_C(0x7fff12345678);
    odi_entry job = odi_job_plain(remember, (void *)(uintptr_t)context, ODI_TAG_INTERNAL);
    odi_entry bare = odi_job_with_tag(job, 0);

    for (uint32_t tag = 0; tag < ODI_RECORDS; tag += 511) {
        job = odi_job_with_tag(job, tag); /* near and far, whatever it had before */
        assert_int_equal(odi_job_tag(job), tag);
        odi_entry other = odi_job_with_tag(job, 0);
        assert_true(other.code == bare.code && other.context == context);
    }
}

TEST(a_closure_is_not_plain_and_keeps_its_words)
{
    odi_entry job = odi_job_closure((void *)0x123456789abc, &calls, 77);

    assert_true((job.code & ODI_JOB_PLAIN) == 0);
    assert_int_equal(odi_job_tag(job), 77);
    assert_true((job.code & ODI_JOB_CODE_MASK) == 0x123456789abc);
    odi_job_discard(odi_job_plain(remember, NULL, 0)); /* a plain job owns nothing */
}

static int tasks_run, tasks_discarded;

void od_task_run(void *task) { tasks_run += task == &tasks_run; }
void od_task_discard(void *task) { tasks_discarded += task == &tasks_run; }

TEST(a_task_is_run_or_discarded_but_not_both)
{
    odi_job_run(odi_job_plain(od_task_run, some(&tasks_run), 77));
    assert_int_equal(tasks_run, 1);
    assert_int_equal(tasks_discarded, 0);
    odi_job_discard(odi_job_plain(od_task_run, some(&tasks_run), 77));
    assert_int_equal(tasks_run, 1);
    assert_int_equal(tasks_discarded, 1);
}

static int executor_jobs_run, executor_jobs_discarded;

void od_executor_run(void *job) { executor_jobs_run += job == &executor_jobs_run; }
void od_executor_discard(void *job) { executor_jobs_discarded += job == &executor_jobs_run; }

TEST(an_executors_job_is_run_or_discarded_but_not_both)
{
    int tasks = tasks_discarded;

    odi_job_run(odi_job_plain(od_executor_run, some(&executor_jobs_run), 0));
    assert_int_equal(executor_jobs_run, 1);
    assert_int_equal(executor_jobs_discarded, 0);
    odi_job_discard(odi_job_plain(od_executor_run, some(&executor_jobs_run), 0));
    assert_int_equal(executor_jobs_run, 1);
    assert_int_equal(executor_jobs_discarded, 1);
    assert_int_equal(tasks_discarded, tasks);
}

#ifdef ODI_SWIFT_CLOSURES
static int closure_calls, releases;

static __attribute__((swiftcall)) void closure(__attribute__((swift_context)) void *captures)
{
    closure_calls += captures == &closure_calls;
}

/* The Swift runtime's, here played by the test. */
void swift_release(void *object) { releases += object == &closure_calls; }

TEST(a_closure_runs_with_its_captures_and_gives_them_up)
{
    odi_closure *code = closure;
    void *word;

    memcpy(&word, &code, sizeof word);
    odi_job_run(odi_job_closure(word, &closure_calls, 9));
    assert_int_equal(closure_calls, 1);
    assert_int_equal(releases, 1);
    odi_job_discard(odi_job_closure(word, &closure_calls, 9));
    assert_int_equal(closure_calls, 1);
    assert_int_equal(releases, 2);
    odi_job_discard(odi_job_closure(word, NULL, 9)); /* without captures */
    assert_int_equal(releases, 2);
}
#endif

/* ---- records ---- */

static struct {
    int diverted, drained, reaped, known;
} heard;

static void on_divert(odi_record *record, odi_entry job)
{
    (void)record, (void)job;
    heard.diverted++;
}

static void on_drained(void *queue, odi_record *record) { heard.drained++; }
static void on_reap(odi_record *record) { heard.reaped++; }
static void on_know(odi_record *record) { heard.known++; }

static const odi_record_owner owner = {on_divert, on_drained, on_reap, NULL, on_know};

static odi_record *new_record(void *queue, odi_group *group)
{
    odi_record *record = odi_record_new(NULL, queue, group, 2, 0, &owner, NULL);

    assert_non_null(record);
    return record;
}

static uint64_t outstanding(odi_record *record)
{
    return odi_counts_outstanding(odi_load_relaxed(&record->counts));
}

TEST(the_count_of_jobs_goes_up_and_down)
{
    odi_record *record = new_record(&heard, NULL);

    assert_int_equal(outstanding(record), 0);
    for (int i = 0; i < 10; i++)
        assert_true(add_to_counts(record));
    assert_int_equal(outstanding(record), 10);
    odi_record_complete(record, 4);
    odi_record_complete(record, 6);
    assert_int_equal(outstanding(record), 0);
    odi_record_free(record);
}

TEST(a_closed_record_refuses_and_a_refusal_is_taken_back)
{
    odi_record *record = new_record(&heard, NULL);

    assert_true(add_to_counts(record));
    odi_or_seqcst(&record->counts, ODI_COUNTS_CLOSED, L1);
    assert_false(add_to_counts(record));
    odi_record_complete(record, 1);
    odi_record_complete(record, 1);
    assert_int_equal(outstanding(record), 0);
    odi_record_free(record);
    record = new_record(&heard, NULL); /* its next generation is open */
    assert_true(add_to_counts(record));
    odi_record_complete(record, 1);
    odi_record_free(record);
}

/* Its queue is asked to look at it for what counts, and only then: who is refused has no hold on the queue. */
TEST(an_unknown_record_is_made_known_by_what_counts_on_it)
{
    odi_record *record = new_record(&heard, NULL);

    heard.known = 0;
    odi_and_seqcst(&record->counts, ~(uint64_t)ODI_COUNTS_KNOWN_TO_QUEUE, L1);
    assert_true(odi_record_count(record, &heard, NULL, 1));
    assert_int_equal(heard.known, 1);
    odi_or_seqcst(&record->counts, ODI_COUNTS_CLOSED, L1);
    assert_false(odi_record_count(record, &heard, NULL, 1));
    assert_int_equal(heard.known, 1);
    odi_record_complete(record, 1);
    assert_int_equal(outstanding(record), 0);
    odi_record_free(record);
}

/* It was counted by the cancel, and is not its submitter's any more. */
TEST(what_is_withdrawn_after_a_cancel_is_discarded)
{
    odi_record *record = new_record(&heard, NULL);
    odi_entry job = odi_job_plain(od_task_run, some(&tasks_run), 0);
    int before = tasks_discarded;

    add_to_counts(record);
    assert_true(odi_record_withdraw(record, job));
    assert_int_equal(tasks_discarded, before);
    add_to_counts(record);
    odi_or_seqcst(&record->flags, ODI_RECORD_CANCELLED, L2);
    assert_false(odi_record_withdraw(record, job));
    assert_int_equal(tasks_discarded, before + 1);
    assert_int_equal(outstanding(record), 0);
    odi_and_seqcst(&record->flags, ~(uint32_t)ODI_RECORD_CANCELLED, L2);
    odi_record_free(record);
}

TEST(the_last_job_of_a_watched_record_calls_its_owner_once)
{
    odi_record *record = new_record(&heard, NULL);

    heard.drained = 0;
    add_to_counts(record);
    odi_record_complete(record, 1);
    assert_int_equal(heard.drained, 0); /* nobody watched */
    add_to_counts(record);
    add_to_counts(record);
    assert_false(odi_record_is_empty(record, true));
    odi_record_complete(record, 1);
    assert_int_equal(heard.drained, 0);
    odi_record_complete(record, 1);
    assert_int_equal(heard.drained, 1);
    add_to_counts(record);
    odi_record_complete(record, 1);
    assert_int_equal(heard.drained, 1); /* the watch was for once */
    odi_record_free(record);
}

TEST(the_record_behind_a_tag_is_found_again)
{
    odi_record *record = new_record(&heard, NULL);
    odi_entry job = odi_job_plain(remember, &calls, 0), labelled;

    assert_true(odi_record_label(record, job, &labelled));
    assert_int_equal(odi_job_tag(labelled), record->tag);
    assert_ptr_equal(odi_record_of_job(labelled), record);
    assert_ptr_equal(odi_record_unlabel(&labelled), record);
    assert_true(labelled.code == job.code && labelled.context == job.context);
    assert_null(odi_record_of_job(job));
    job = odi_job_plain(remember, &calls, ODI_TAG_INTERNAL);
    assert_null(odi_record_of_job(job));
    assert_null(odi_record_unlabel(&job));
    odi_record_free(record);
}

/* More than 2^18 queues may be alive at once, and their jobs take no more memory than others'. */
TEST(the_jobs_of_300_000_records_are_named_in_their_two_words)
{
    enum { RECORDS = 300 * 1000 };
    odi_record **records = malloc(RECORDS * sizeof *records);
    int wrapped = 0, wrong = 0;

    for (int i = 0; i < RECORDS; i++) {
        records[i] = new_record(&heard, NULL);
        odi_entry job = odi_job_plain(remember, &calls, 0), labelled;

        assert_true(odi_record_label(records[i], job, &labelled));
        wrapped += odi_job_tag(labelled) == ODI_TAG_WRAPPED;
        wrong += odi_record_of_job(labelled) != records[i];
        wrong += odi_record_unlabel(&labelled) != records[i];
        wrong += labelled.code != job.code || labelled.context != job.context;
    }
    assert_int_equal(wrapped, 0);
    assert_int_equal(wrong, 0);
    odi_record *last = records[RECORDS - 1];
    assert_in_range(last->tag, RECORDS - 100, RECORDS + 1000);
    for (int i = 0; i < RECORDS; i++)
        odi_record_free(records[i]);
    assert_ptr_equal(new_record(&heard, NULL), last); /* the same memory serves again */
    odi_record_free(last);
    free(records);
}

/* A context that is no address has bits where a far tag's would be. */
TEST(a_context_that_is_no_address_is_kept_whole_behind_any_tag)
{
    static const uint64_t contexts[] = {UINT64_MAX, UINT64_C(1) << 48, UINT64_C(1) << 63, 0, 1};
    odi_record *near = new_record(&heard, NULL), far = *near;

    while (near->tag >= ODI_JOB_NEAR_TAGS) {
        near = new_record(&heard, NULL);
        assert_non_null(near);
    }
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        odi_entry job = odi_job_plain(remember, NULL, 0), labelled;

        job.context = contexts[i];
        assert_true(odi_record_label(near, job, &labelled));
        assert_ptr_equal(odi_record_unlabel(&labelled), near);
        assert_true(labelled.code == job.code && labelled.context == job.context);
        far.tag = ODI_JOB_NEAR_TAGS;
        assert_true(odi_record_label(&far, job, &labelled));
        assert_int_equal(odi_job_tag(labelled) == ODI_TAG_WRAPPED, contexts[i] >> 48 != 0);
        (void)odi_record_unlabel(&labelled);
        assert_true(labelled.code == job.code && labelled.context == job.context);
    }
    odi_record_free(near);
}

/* ---- groups ---- */

static bool group_wait(odi_group *group, int64_t deadline_ns)
{
    odi_set set = odi_group_set(group);

    return watch_wait(&set, deadline_ns);
}

TEST(an_empty_group_waits_for_nothing)
{
    odi_group *group = od_group_create();

    assert_non_null(group);
    assert_true(group_wait(group, 0));
    assert_true(odi_group_seems_empty(group));
    od_group_release(group);
}

TEST(a_wait_ends_at_its_deadline_and_then_tells_the_truth)
{
    odi_group *group = od_group_create();

    od_group_enter(group);
    assert_false(odi_group_seems_empty(group));
    assert_false(group_wait(group, 0));
    assert_false(group_wait(group, odi_clock_after(MILLISECONDS(2))));
    od_group_leave(group);
    assert_true(group_wait(group, 0));
    od_group_release(group);
}

static void *leave_soon(void *group)
{
    odi_clock_sleep(MILLISECONDS(2));
    od_group_leave(group);
    return NULL;
}

TEST(a_wait_is_ended_by_the_last_leave)
{
    for (int round = 0; round < 20; round++) {
        odi_group *group = od_group_create();
        pthread_t threads[2];

        od_group_enter(group);
        od_group_enter(group);
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, leave_soon, group);
        assert_true(group_wait(group, INT64_MAX));
        assert_true(odi_group_seems_empty(group));
        od_group_release(group); /* while the last leaver may still be inside leave */
        join_threads(threads, 2);
    }
}

static void count(void *counter) { ++*(int *)counter; }

TEST(notifications_come_once_in_order_when_the_group_is_empty)
{
    odi_group *group = od_group_create();
    odi_set set = odi_group_set(group);
    int first = 0, second = 0;

    assert_true(odi_watch_notify(&set, count, &first)); /* empty now: at once, here */
    assert_int_equal(first, 1);
    od_group_enter(group);
    assert_true(odi_watch_notify(&set, count, &first));
    assert_true(odi_watch_notify(&set, count, &second));
    assert_int_equal(first, 1);
    od_group_leave(group);
    assert_int_equal(first, 2);
    assert_int_equal(second, 1);
    od_group_enter(group);
    od_group_leave(group);
    assert_int_equal(first + second, 3);
    od_group_release(group);
}

static struct {
    odi_set set;
    odi_watch_waiter waiter;
    bool met;
} late;

static void end_the_wait(void *unused) { late.met = odi_watch_end(&late.set, &late.waiter); }

TEST(a_wait_whose_deadline_comes_while_its_moment_is_told_has_met_it)
{
    odi_group *group = od_group_create();

    late.set = odi_group_set(group);
    od_group_enter(group);
    assert_false(odi_watch_begin(&late.set, &late.waiter));
    assert_true(odi_watch_notify(&late.set, end_the_wait, NULL));
    od_group_leave(group);
    assert_true(late.met);
    od_group_release(group);
}

static void leave_too_often(void *unused)
{
    odi_group *group = od_group_create();

    od_group_enter(group);
    od_group_leave(group);
    od_group_leave(group);
}

TEST(one_leave_too_many_traps_by_name) { assert_child_traps(leave_too_often, NULL, "WaitGroup.leave()"); }

TEST(a_group_that_is_given_up_goes_when_it_is_empty)
{
    odi_group *first = od_group_create();

    od_group_enter(first);
    od_group_release(first); /* not empty: it stays */
    odi_group *other = od_group_create();
    assert_ptr_not_equal(other, first);
    od_group_leave(first); /* now it goes */
    odi_group *again = od_group_create();
    assert_ptr_equal(again, first);
    assert_true(group_wait(again, 0));
    od_group_release(other);
    od_group_release(again);
}

/* Whoever leaves last has told the count, and owes the notifications when the last reference goes. */
TEST(a_group_that_is_given_up_stays_until_its_notifications_are_made)
{
    odi_group *group = od_group_create();
    odi_set set = odi_group_set(group);
    int made = 0;

    od_group_enter(group);
    assert_true(odi_watch_notify(&set, count, &made));
    assert_true(odi_record_subtract(&group->own, 1)); /* as od_group_leave does … */
    od_group_release(group);
    odi_group *other = od_group_create();
    assert_ptr_not_equal(other, group);
    odi_record_end_watch(&group->own); /* … and goes on */
    odi_group_drained(group);
    assert_int_equal(made, 1);
    odi_group *again = od_group_create();
    assert_ptr_equal(again, group);
    od_group_release(other);
    od_group_release(again);
}

static odi_record *make_for_group(void *queue, odi_group *group, uint32_t band)
{
    return odi_record_new(NULL, queue, group, band, 0, &owner, NULL);
}

TEST(a_group_has_one_record_per_queue_and_band)
{
    odi_group *group = od_group_create();
    int queues[2];

    odi_record *first = odi_group_record(group, &queues[0], 2, make_for_group);
    assert_ptr_equal(odi_group_record(group, &queues[0], 2, make_for_group), first);
    odi_record *band = odi_group_record(group, &queues[0], 1, make_for_group);
    odi_record *queue = odi_group_record(group, &queues[1], 2, make_for_group);
    assert_true(first != band && first != queue && band != queue);
    assert_true(odi_record_count(queue, &queues[1], group, 1));
    assert_false(odi_group_seems_empty(group) || group_wait(group, 0));
    odi_record_complete(queue, 1);
    assert_true(odi_group_seems_empty(group) && group_wait(group, 0));
    heard.reaped = 0;
    od_group_release(group);
    assert_int_equal(heard.reaped, 3); /* they are their queues' to free from here on */
    odi_record_free(first);
    odi_record_free(band);
    odi_record_free(queue);
}

TEST(records_that_feed_each_other_are_not_empty_in_between)
{
    odi_group *group = od_group_create();
    int queues[2];

    odi_record *a = odi_group_record(group, &queues[0], 2, make_for_group);
    odi_record *b = odi_group_record(group, &queues[1], 2, make_for_group);
    assert_true(odi_record_count(a, &queues[0], group, 1));
    for (int i = 0; i < 100; i++) { /* a's job submits to b and ends, and the other way round */
        assert_true(odi_record_count(i % 2 ? a : b, &queues[i % 2 ? 0 : 1], group, 1));
        odi_record_complete(i % 2 ? b : a, 1);
        assert_false(group_wait(group, 0));
    }
    odi_record_complete(a, 1);
    assert_true(group_wait(group, 0));
    od_group_release(group);
    odi_record_free(a);
    odi_record_free(b);
}

/* Where none is left of those that never were, what is free covers what is reserved. */
TEST(free_records_can_be_reserved)
{
    int others = 0;
    odi_record *record = odi_record_new(NULL, &others, NULL, 2, 0, &owner, NULL);

    while (odi_records_reserve())
        others++;
    assert_null(odi_record_new(NULL, &others, NULL, 2, 0, &owner, NULL));
    odi_record_free(record);
    bool reserve = odi_records_reserve();
    assert_true(reserve);
    assert_null(odi_record_new(NULL, &others, NULL, 2, 0, &owner, NULL));
    assert_ptr_equal(odi_record_new(NULL, &others, NULL, 2, 0, &owner, &reserve), record);
    assert_false(reserve);
    odi_record_free(record);
    while (others-- > 0)
        odi_records_unreserve();
}

/* ---- the arena ---- */

typedef struct {
    ODI_LINE_ALIGNED char bytes[192];
} thing;

TEST(objects_are_aligned_zero_at_first_and_used_again)
{
    enum { THINGS = 1000 };
    static odi_arena arena = ODI_ARENA_FOR(thing);
    static thing *things[THINGS];

    for (int i = 0; i < THINGS; i++) {
        things[i] = odi_arena_take(&arena);
        assert_non_null(things[i]);
        assert_int_equal((uintptr_t)things[i] % ODI_CACHE_LINE, 0);
        for (size_t byte = 0; byte < sizeof(thing) - sizeof(void *); byte++)
            assert_int_equal(things[i]->bytes[byte], 0);
        memset(things[i], i, sizeof(thing) - sizeof(void *));
    }
    for (int i = 0; i < THINGS; i++)
        assert_int_equal((unsigned char)things[i]->bytes[100], (unsigned char)i);
    odi_arena_give(&arena, things[7]);
    assert_ptr_equal(odi_arena_take(&arena), things[7]);
    assert_int_equal(things[7]->bytes[100], 7); /* as it was left */
}

enum { LENT = 1000 };

static odi_arena lent_arena = ODI_ARENA_FOR(thing);

static void *give_all(void *things)
{
    for (int i = 0; i < LENT; i++)
        odi_arena_give(&lent_arena, ((thing **)things)[i]);
    return NULL;
}

TEST(what_one_thread_gives_back_serves_all)
{
    static thing *things[LENT];
    pthread_t other;
    int came_back = 0;

    for (int i = 0; i < LENT; i++) {
        things[i] = odi_arena_take(&lent_arena);
        things[i]->bytes[99] = 1;
    }
    pthread_create(&other, NULL, give_all, things);
    pthread_join(other, NULL);
    for (int i = 0; i < LENT; i++)
        came_back += ((thing *)odi_arena_take(&lent_arena))->bytes[99];
    assert_in_range(came_back, LENT - 100, LENT); /* the rest of a chunk was not taken before */
}

enum { GIVERS = 8 };

static odi_free_list given = ODI_FREE_LIST_FOR(thing);
static pthread_barrier_t givers; /* a thread that is there where another has gone is at its place */

static void *give_one(void *one)
{
    (void)pthread_barrier_wait(&givers);
    odi_free_list_give(&given, one);
    return NULL;
}

TEST(threads_come_to_lists_of_their_own)
{
    static thing things[GIVERS];
    pthread_t threads[GIVERS];
    int lists = 0;

    assert_int_equal(pthread_barrier_init(&givers, NULL, GIVERS), 0);
    for (int i = 0; i < GIVERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, give_one, &things[i]), 0);
    join_threads(threads, GIVERS);
    for (int i = 0; i < ODI_FREE_SHARDS; i++)
        lists += odi_load_relaxed(&given.shards[i].first) != NULL; /* relaxed: they are through */
    assert_true(lists > 1);
    assert_int_equal(pthread_barrier_destroy(&givers), 0);
}

static odi_arena shared_arena = ODI_ARENA_FOR(thing);

static void *take_and_give(void *raw)
{
    for (int i = 0; i < UNLESS_SANITIZED(20000, 3000); i++) {
        thing *it = odi_arena_take(&shared_arena);

        memcpy(it->bytes, &raw, sizeof raw);
        if (i % 16 == 0)
            sched_yield();
        if (memcmp(it->bytes, &raw, sizeof raw) != 0)
            return it; /* somebody else has it too */
        odi_arena_give(&shared_arena, it);
    }
    return NULL;
}

TEST(no_object_is_given_to_two)
{
    pthread_t threads[4];

    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *doubly_given;

        pthread_join(threads[i], &doubly_given);
        assert_null(doubly_given);
    }
}

GUARDED_PROGRAM
