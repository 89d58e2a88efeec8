/* The state of a process that neither helps nor stops: read from its memory, and the dump that a debugger calls. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "gate/queue.h"
#include "include/od_report.h"
#include "include/od_top.h"
#include "os/image.h"

CHILDREN_MAY_START_THREADS

static char message[256];
static atomic_bool opened;

static void hold(void *started)
{
    atomic_store((atomic_bool *)started, true);
    while (!atomic_load(&opened))
        usleep(1000);
}

static od_queue *held_queue(od_pool *pool)
{
    static atomic_bool started;
    od_queue *queue = od_queue_create(pool, OD_BAND_UTILITY, 1, "held");

    atomic_store(&opened, false);
    atomic_store(&started, false);
    for (int job = 0; job < 4; job++)
        od_queue_async(queue, NULL, OD_QUEUE_BAND, hold, &started);
    while (!atomic_load(&started))
        sched_yield();
    return queue;
}

/* A process with a queue that a job holds, stopped if wished. Its number. */
static pid_t other_process(bool publishes, bool stops)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)held_queue(pool_of(2));
        od_queue *suspended = od_queue_create(pool_of(1), OD_BAND_DEFAULT, 3, "suspended");
        od_queue_suspend(suspended);
        if (publishes && !od_top_publish(message, sizeof message))
            _exit(1);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    if (stops)
        kill(child, SIGSTOP);
    return child;
}

static void end_process(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static const od_top_queue *queue_named(const od_top_view *view, const char *label)
{
    for (uint32_t i = 0; i < view->queue_count; i++) {
        if (strcmp(view->queues[i].label, label) == 0)
            return &view->queues[i];
    }
    return NULL;
}

static bool runs(const od_top_view *view, const od_top_queue *queue)
{
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const od_top_worker *worker = &view->workers[i];

        if (worker->doing == OD_WORKER_RUNS && worker->queue_id == queue->id && strcmp(worker->queue, queue->label) == 0 &&
            worker->thread_id > 0)
            return true;
    }
    return false;
}

static void assert_shows_both(od_top *top)
{
    od_top_view view;

    assert_true(od_top_read(top, &view, message, sizeof message));
    assert_int_equal(view.pool_count, 2);
    const od_top_queue *held = queue_named(&view, "held"), *suspended = queue_named(&view, "suspended");
    assert_non_null(held);
    assert_non_null(suspended);
    assert_true(held->pending == 4 && held->running == 1 && held->width == 1 && held->band == OD_BAND_UTILITY && held->active);
    assert_true(suspended->suspended && suspended->pending == 0 && suspended->width == 3);
    assert_true(runs(&view, held));
    assert_int_equal(view.all_queues, 2);
}

TEST(a_process_that_publishes_nothing_is_read_from_its_memory)
{
    for (int stops = 0; stops < 2; stops++) {
        od_top_view view;
        pid_t child = other_process(false, stops);
        od_top *top = od_top_peek(child, message, sizeof message);

        if (top == NULL)
            print_error("%s\n", message);
        assert_non_null(top);
        assert_shows_both(top);
        assert_shows_both(top);
        end_process(child);
        assert_false(od_top_read(top, &view, message, sizeof message));
        assert_non_null(strstr(message, "has ended"));
        od_top_close(top);
    }
}

TEST(a_published_page_is_preferred_to_memory)
{
    od_top_view view;
    pid_t child = other_process(true, false);
    od_top *top = od_top_peek(child, message, sizeof message);

    assert_non_null(top);
    assert_true(od_top_read(top, &view, message, sizeof message));
    uint64_t first = view.taken_ns;
    assert_true(od_top_read(top, &view, message, sizeof message));
    assert_true(view.taken_ns - first == 0 || view.taken_ns - first > 100000000); /* pages are renewed, memory is read at once */
    end_process(child);
    od_top_close(top);
}

static void assert_refused(int process, const char *part)
{
    message[0] = '\0';
    assert_null(od_top_peek(process, message, sizeof message));
    if (strstr(message, part) == NULL)
        print_error("%s\n", message);
    assert_non_null(strstr(message, part));
}

/* Whether the process has executed the program of this name. */
static bool is_named(pid_t process, const char *name)
{
    char path[64], text[64] = "";

    snprintf(path, sizeof path, "/proc/%d/comm", process);
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        fclose(file);
    return read && strcmp(text, name) == 0;
}

TEST(memory_without_a_scheduler_or_of_another_version_is_refused)
{
    assert_refused(0x7ffffff0, "no process has this number");
    pid_t other = fork();
    if (other == 0) {
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    assert_comes_true(is_named(other, "sleep\n"));
    assert_refused(other, "has no scheduler");
    end_process(other);

    odi_image_own.layout++;
    pid_t child = other_process(false, false);
    odi_image_own.layout--;
    assert_refused(child, "another version");
    end_process(child);
}

static void looks_as_another_user(void *unused)
{
    (void)unused;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return; /* only root can */
    child_expects(od_top_peek(getppid(), message, sizeof message) == NULL);
    child_expects(strstr(message, "belongs to another user") != NULL);
}

TEST(memory_of_another_user_is_refused)
{
    assert_child_succeeds(looks_as_another_user, NULL);
}

/* ---- the dump for a debugger ---- */

/* Calls od_dump, and returns what it wrote. */
static char *dumped(void)
{
    static char text[8192];
    int before = dup(STDERR_FILENO), file = memfd_create("dump", 0);

    dup2(file, STDERR_FILENO);
    od_dump();
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t count = pread(file, text, sizeof text - 1, 0);
    close(file);
    text[count > 0 ? count : 0] = '\0';
    return text;
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        print_error("%s is not in:\n%s", part, text);
    assert_non_null(strstr(text, part));
}

TEST(a_dump_for_a_debugger_shows_workers_and_queues)
{
    assert_string_equal(dumped(), "od_dump: no scheduler exists.\n");
    od_pool *pool = pool_of(2);
    od_queue *queue = held_queue(pool);
    const char *text = dumped();

    expect_text(text, "Scheduler \"");
    expect_text(text, "): runs \"held\" for 0.");
    expect_text(text, "\n  queue \"held\" (serial, utility): 4 pending, 1 running\n");
    atomic_store(&opened, true);
    assert_true(od_queue_wait(queue, HANG_NS));
    end_pool(pool, queue);
}

TEST(a_dump_for_a_debugger_waits_for_no_lock)
{
    od_pool *pool = pool_of(2);
    od_queue *queue = held_queue(pool);

    /* As a thread that a debugger has stopped in a critical section. */
    odi_lock_acquire(&pool->team.lock);
    odi_lock_acquire(&queue->watch.lock);
    odi_lock_acquire(&odi_queues.lock);
    expect_text(dumped(), "\n  queue \"held\" (serial, utility): 4 pending, 1 running\n");
    odi_lock_release(&odi_queues.lock);
    odi_lock_release(&queue->watch.lock);
    odi_lock_release(&pool->team.lock);
    atomic_store(&opened, true);
    assert_true(od_queue_wait(queue, HANG_NS));
    end_pool(pool, queue);
}

TEST_PROGRAM
