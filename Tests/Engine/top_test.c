/* The page that a process publishes for `overdrive top`: what it shows, and why a reader refuses one. */
#include <sys/mman.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "include/od_top.h"
#include "observe/page.h"
#include "os/shared.h"

CHILDREN_MAY_START_THREADS

static char message[256];

static void publish(void)
{
    if (!od_top_publish(message, sizeof message)) {
        print_error("no page: %s\n", message);
        abort();
    }
}

static void assert_refused(int process, const char *part)
{
    message[0] = '\0';
    assert_null(od_top_open(process, message, sizeof message));
    if (strstr(message, part) == NULL)
        print_error("%s\n", message);
    assert_non_null(strstr(message, part));
}

static atomic_bool opened;

static void hold(void *started)
{
    atomic_store((atomic_bool *)started, true);
    while (!atomic_load(&opened))
        sched_yield();
}

static bool shows_them(const od_top_view *view)
{
    const od_top_worker *runs = NULL;

    for (uint32_t i = 0; i < view->worker_count; i++) {
        if (strcmp(view->workers[i].queue, "shown") == 0)
            runs = &view->workers[i];
    }
    return runs != NULL && runs->doing == OD_WORKER_RUNS && view->queue_count == 1 && view->queues[0].pending == 4 &&
           view->queues[0].running == 1 && view->queues[0].width == 1 && view->queues[0].busy_ns > 0 &&
           strcmp(view->queues[0].label, "shown") == 0;
}

TEST(a_published_page_shows_workers_and_queues)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "shown");
    static atomic_bool started;
    od_top_view view;

    atomic_store(&opened, false);
    for (int job = 0; job < 4; job++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, hold, &started);
    while (!atomic_load(&started))
        sched_yield();
    publish();
    publish(); /* again: nothing happens */
    od_top *top = od_top_open(getpid(), message, sizeof message);
    assert_non_null(top);
    bool shown = false;
    for (int round = 0; round < 400 && !shown; round++) {
        assert_true(od_top_read(top, &view, message, sizeof message));
        shown = shows_them(&view);
        usleep(10000);
    }
    assert_true(shown);
    assert_int_equal(view.pool_count, 1);
    assert_int_equal(view.pools[0].workers, 2);
    atomic_store(&opened, true);
    assert_true(od_queue_wait(queue, HANG_NS));
    assert_true(od_top_end());
    assert_false(od_top_end());
    od_top_close(top);
    end_pool(pool, queue);
}

TEST(a_process_without_a_page_and_a_number_without_a_process_are_refused)
{
    assert_refused(getpid(), "publishes no page");
    assert_refused(0x7ffffff0, "no process has this number");
}

static void sees_no_page(void *unused)
{
    (void)unused;
    child_expects(!od_top_end());
    child_expects(od_top_open(getpid(), message, sizeof message) == NULL);
}

TEST(a_forked_child_publishes_nothing)
{
    publish();
    assert_child_succeeds(sees_no_page, NULL);
    assert_true(od_top_end());
}

TEST(a_page_of_another_version_is_refused)
{
    int file, error;
    odi_page *page = odi_shared_new(ODI_PAGE_NAME, sizeof *page, &file, &error);

    assert_non_null(page);
    assert_refused(getpid(), "publishes no page"); /* it has no beginning yet */
    page->magic = ODI_PAGE_MAGIC;
    page->version = ODI_PAGE_VERSION + 1;
    page->process = getpid();
    page->started = odi_shared_started(getpid());
    assert_refused(getpid(), "another version (3)");
    page->version = ODI_PAGE_VERSION;
    page->bytes = sizeof *page;
    page->started++; /* as of a process that had this number before */
    assert_refused(getpid(), "publishes no page");
    odi_shared_free(page, sizeof *page, file);
}

TEST(a_page_whose_process_ends_is_told)
{
    od_top_view view;
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        publish();
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    od_top *top = od_top_open(child, message, sizeof message);
    assert_non_null(top);
    assert_true(od_top_read(top, &view, message, sizeof message));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(od_top_read(top, &view, message, sizeof message));
    assert_non_null(strstr(message, "has ended"));
    od_top_close(top);
    close(ready[0]);
    close(ready[1]);
}

static void looks_as_another_user(void *unused)
{
    (void)unused;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return; /* only root can */
    child_expects(od_top_open(getppid(), message, sizeof message) == NULL);
    child_expects(strstr(message, "belongs to another user") != NULL);
}

TEST(a_page_of_another_user_is_refused)
{
    publish();
    assert_child_succeeds(looks_as_another_user, NULL);
    assert_true(od_top_end());
}

TEST_PROGRAM
