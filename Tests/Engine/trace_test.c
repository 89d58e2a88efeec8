/* Traces: each closure begins and ends once in the file, with its queue's label and an arrow from its submission, and
 * Tests/Trace/check agrees. */
#include <errno.h>
#include <sys/stat.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "Support/threads.h"
#include "include/od_trace.h"
#include "observe/trace.h"

CHILDREN_MAY_START_THREADS

static char folder[] = "/tmp/od-trace-XXXXXX";
static char path[128];

/* A new file's name. */
static const char *new_file(void)
{
    static int number;

    if (number == 0 && mkdtemp(folder) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/%d", folder, ++number);
    return path;
}

static void begin(void)
{
    char message[1024] = "";

    if (!od_trace_start(new_file(), 0, 0, message, sizeof message)) {
        print_error("no trace: %s\n", message);
        abort();
    }
}

static od_trace_report end(void)
{
    od_trace_report report;

    assert_true(od_trace_stop(&report));
    return report;
}

/* `wanted`: what the checker is to find. */
static void assert_file(const char *file, const char *wanted)
{
    char command[512];

    snprintf(command, sizeof command, "Tests/Trace/check %s %s", file, wanted);
    assert_int_equal(system(command), 0);
    unlink(file);
}

__attribute__((destructor)) static void remove_folder(void)
{
    (void)rmdir(folder);
}

/* Jobs with captures that no other pending one has. */
static void add_some(od_queue *queue, int jobs)
{
    static char captures[32768];
    static atomic_uint next;

    for (int job = 0; job < jobs; job++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, &captures[atomic_fetch_add(&next, 1) % sizeof captures]);
}

/* ---- whole traces ---- */

static void submit_more(void *captures)
{
    add_some(captures, 100);
}

TEST(a_whole_trace_has_each_closure_and_its_arrow_once)
{
    char wanted[128];

    begin();
    od_pool *pool = pool_of(2);
    od_queue *serial = od_queue_create(pool, OD_BAND_DEFAULT, 1, "db");
    od_queue *open = od_queue_create(pool, OD_BAND_UTILITY, OD_UNLIMITED, "pages");
    od_queue *limited = od_queue_create(pool, OD_BAND_DEFAULT, 2, "images");

    add_some(serial, 500);
    add_some(open, 500);
    od_queue_async(open, NULL, OD_QUEUE_BAND, submit_more, limited);
    add_some(limited, 500);
    od_queue_suspend(serial);
    add_some(serial, 10);
    uint64_t cancelled = od_queue_cancel_all(serial);
    od_queue_resume(serial);
    wait_for_queues(serial, open, limited);
    od_metrics metrics = metrics_of(pool);
    end_pool(pool, serial, open, limited);
    od_trace_report report = end();

    assert_int_equal(report.lost, 0);
    assert_int_equal(metrics.cancelled, cancelled);
    snprintf(wanted, sizeof wanted, "submitted=1611 started=%d cancelled=%d arrows=%d", (int)metrics.executed, (int)cancelled,
             (int)metrics.executed);
    assert_file(path, wanted);
}

TEST(two_pending_closures_that_are_alike_have_no_arrow)
{
    static atomic_ullong counter;

    begin();
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "alike");
    od_queue_suspend(queue);
    add_many(queue, 2, count_job, &counter);
    add_some(queue, 1);
    od_queue_resume(queue);
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
    (void)end();
    assert_file(path, "submitted=3 started=3 arrows=1");
}

TEST(queues_that_follow_each_other_at_one_address_have_their_own_labels)
{
    begin();
    od_pool *pool = pool_of(1);
    for (int round = 0; round < 50; round++) {
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, round % 2 ? "odd" : "even");
        add_some(queue, 1);
        end_queue(queue);
    }
    assert_int_equal(od_pool_free(pool), OD_OK);
    (void)end();
    assert_file(path, "started=50 slices:odd=25 slices:even=25");
}

TEST(a_trace_that_begins_and_ends_in_the_midst_of_closures_closes_what_is_open)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "held");
    gate before = {0}, within = {0};

    hold_a_job(queue, &before);
    begin();
    hold_a_job(queue, &within);
    atomic_store(&before.open, true);
    assert_comes_true(all_done(pool) == 1);
    (void)end();
    atomic_store(&within.open, true);
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_file(path, "submitted=1 started=1");
}

/* ---- limits and refusals ---- */

TEST(a_trace_keeps_the_priority_of_the_thread_that_starts_it)
{
    int before = getpriority(PRIO_PROCESS, 0); /* of this thread */

    begin();
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
    (void)end();
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
    unlink(path);
}

TEST(a_file_that_exists_and_a_second_trace_are_refused)
{
    char message[1024] = "", first[128];

    begin();
    strcpy(first, path);
    assert_false(od_trace_start(new_file(), 0, 0, message, sizeof message));
    assert_non_null(strstr(message, "another trace"));
    (void)end();
    assert_false(od_trace_stop(NULL));
    assert_false(od_trace_start(first, 0, 0, message, sizeof message));
    assert_non_null(strstr(message, strerror(EEXIST)));
    assert_file(first, "submitted=0");
    assert_false(od_trace_start("/no/such/folder/file", 0, 0, message, sizeof message));
    assert_non_null(strstr(message, strerror(ENOENT)));
}

TEST(a_trace_is_ended_by_its_own_number_alone)
{
    char message[1024];
    uint64_t first = 0, second = 0;

    assert_true(odi_trace_start(new_file(), 0, 0, &first, message, sizeof message));
    assert_true(odi_trace_stop(first, NULL));
    unlink(path);
    assert_true(odi_trace_start(new_file(), 0, 0, &second, message, sizeof message));
    assert_false(odi_trace_stop(first, NULL));
    assert_int_equal(odi_trace_running(NULL), second);
    assert_true(odi_trace_stop(second, NULL));
    unlink(path);
}

TEST(a_trace_ends_at_its_size_and_its_file_is_the_owners_alone)
{
    char message[1024];
    struct stat status;

    assert_true(od_trace_start(new_file(), 0, 100000, message, sizeof message));
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "many");
    add_some(queue, 20000);
    end_queue(queue);
    assert_int_equal(od_pool_free(pool), OD_OK);
    assert_comes_true(!od_trace_stop(NULL));
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_size, 90000, 110000);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_file(path, "");
}

/* ---- processes ---- */

static int stop_none(void)
{
    return od_trace_stop(NULL);
}

TEST(a_forked_child_traces_nothing)
{
    begin();
    od_pool *pool = pool_of(1);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "parent's");
    add_some(queue, 10);
    assert_true(od_queue_wait(queue, HANG_NS));
    pid_t child = fork();
    if (child == 0)
        _exit(stop_none() + odi_traces());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end_pool(pool, queue);
    (void)end();
    assert_file(path, "submitted=10 started=10");
}

/* Never returns. */
static void trace_for_ever(void)
{
    begin();
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, OD_UNLIMITED, "for ever");
    for (;;) {
        add_some(queue, 100);
        (void)od_queue_wait(queue, HANG_NS);
    }
}

TEST(a_killed_process_leaves_a_file_of_whole_packets)
{
    struct stat status = {0};
    const char *file = new_file();
    char name[128];

    strcpy(name, file); /* the child's counter is where this one's is */
    char *end_of_number = strrchr(name, '/') + 1;
    sprintf(end_of_number, "%d", atoi(end_of_number) + 1);
    pid_t child = fork();
    if (child == 0)
        trace_for_ever();
    assert_comes_true(stat(name, &status) == 0 && status.st_size > 200000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    (void)new_file();
    assert_file(name, "cut=1");
}

/* ---- many threads ---- */

enum { THREADS = 8 };
static int events_each;

static void *write_events(void *number)
{
    for (int i = 0; i < events_each; i++)
        odi_trace(ODI_TRACE_STEAL, ODI_TRACE_NO_BAND, NULL, (uint64_t)i);
    return NULL;
}

/* TRACE_EVENTS: so many per thread instead. Threads that end leave their rings to others. */
TEST(each_event_of_many_threads_is_written_or_counted_as_lost)
{
    const char *asked = getenv("TRACE_EVENTS");

    events_each = asked != NULL ? atoi(asked) : UNLESS_SANITIZED(40000, 10000);
    begin();
    for (int round = 0; round < 2; round++)
        run_on_threads(THREADS, write_events);
    od_trace_report report = end();
    assert_int_equal(report.events + report.lost, 2ull * THREADS * (unsigned)events_each);
    assert_file(path, "");
}

TEST_PROGRAM
