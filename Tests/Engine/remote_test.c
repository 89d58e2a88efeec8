/* A trace that another process asks for: what it has, what ends it, and which requests are refused. */
#include <signal.h>
#include <sys/stat.h>

#include "Support/process.h"
#include "Support/queues.h"
#include "Support/scenes.h"
#include "include/od_submit.h"
#include "include/od_top.h"
#include "include/od_trace.h"
#include "observe/control.h"
#include "os/shared.h"

CHILDREN_MAY_START_THREADS

static char message[4608], folder[] = "/tmp/od-remote-XXXXXX";

static void remove_all(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

static const char *file_named(const char *name)
{
    static char path[256];
    static bool made;

    if (!made && (mkdtemp(folder) == NULL || atexit(remove_all) != 0))
        abort();
    made = true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A process that publishes a page and runs jobs of a queue. */
static pid_t traced_process(void)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        od_pool *pool = pool_of(2);
        od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "traced");

        if (!od_top_publish(message, sizeof message))
            _exit(1);
        (void)!write(ready[1], "", 1);
        for (;;) {
            od_queue_async(queue, NULL, OD_QUEUE_BAND, no_job, NULL);
            usleep(2000);
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_process(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static od_trace_remote *start(pid_t process, const char *value)
{
    od_trace_remote *remote = od_trace_remote_start(process, value, message, sizeof message);

    if (remote == NULL)
        print_error("%s\n", message);
    assert_non_null(remote);
    return remote;
}

/* Waits until the request has another state than these. */
static od_trace_remote_status await(od_trace_remote *remote, bool written_too, od_trace_report *report)
{
    od_trace_remote_status status = OD_TRACE_REMOTE_WAITS;

    for (int round = 0; round < 3000; round++) {
        status = od_trace_remote_look(remote, report, message, sizeof message);
        if (status != OD_TRACE_REMOTE_WAITS && (status != OD_TRACE_REMOTE_WRITES || !written_too))
            break;
        usleep(10000);
    }
    return status;
}

/* Asserts that the file is a whole trace, in which the queue is. */
static void assert_trace(const char *path)
{
    char command[512];

    snprintf(command, sizeof command, "Tests/Trace/check %s && grep -aqF 'traced' %s", path, path);
    assert_int_equal(system(command), 0);
}

TEST(a_command_traces_a_process_that_publishes_a_page)
{
    od_trace_report report;
    pid_t child = traced_process();
    char path[256], value[300];

    /* Ended on request. */
    snprintf(path, sizeof path, "%s", file_named("first"));
    od_trace_remote *remote = start(child, path);
    assert_int_equal(await(remote, false, &report), OD_TRACE_REMOTE_WRITES);
    usleep(300000);
    od_trace_remote_stop(remote);
    od_trace_remote_stop(remote);
    assert_int_equal(await(remote, true, &report), OD_TRACE_REMOTE_ENDED);
    assert_true(report.events > 0 && report.lost == 0 && report.bytes > 0);
    assert_trace(path);
    od_trace_remote_close(remote);

    /* And once more, with a limit. */
    snprintf(path, sizeof path, "%s-%d", file_named("second"), child);
    snprintf(value, sizeof value, "%s-%%p:1s", file_named("second"));
    remote = start(child, value);
    assert_int_equal(await(remote, true, &report), OD_TRACE_REMOTE_ENDED);
    assert_true(report.events > 0);
    assert_trace(path);
    od_trace_remote_close(remote);
    end_process(child);
}

TEST(a_trace_ends_with_the_command_that_asked_for_it)
{
    od_trace_report report;
    pid_t child = traced_process();
    char path[256], check[300];

    snprintf(path, sizeof path, "%s", file_named("killed"));
    snprintf(check, sizeof check, "Tests/Trace/check %s >/dev/null 2>&1", path);
    pid_t command = fork();
    if (command == 0) {
        od_trace_remote *remote = od_trace_remote_start(child, path, message, sizeof message);

        (void)await(remote, false, &report);
        raise(SIGKILL);
    }
    waitpid(command, NULL, 0);
    assert_comes_true(system(check) == 0); /* before another request, which would end it too */
    od_trace_remote *remote = start(child, file_named("after"));
    assert_int_equal(await(remote, false, &report), OD_TRACE_REMOTE_WRITES);
    assert_trace(path);
    end_process(child);
    assert_int_equal(await(remote, true, &report), OD_TRACE_REMOTE_GONE);
    assert_non_null(strstr(message, "the process has ended"));
    od_trace_remote_close(remote);
}

TEST(a_file_that_cannot_be_created_is_refused_by_the_process)
{
    od_trace_report report;
    pid_t child = traced_process();
    od_trace_remote *remote = start(child, "/nowhere/trace");

    assert_int_equal(await(remote, true, &report), OD_TRACE_REMOTE_REFUSED);
    assert_non_null(strstr(message, "cannot create the file (/nowhere/trace: "));
    od_trace_remote_close(remote);
    end_process(child);
}

/* Maps the control page of a process. */
static odi_control *control_of(pid_t process, int *file)
{
    int error;
    odi_control *control = odi_shared_open_for_writing(process, ODI_CONTROL_NAME, sizeof *control, file, &error);

    assert_non_null(control);
    return control;
}

TEST(a_request_after_a_command_that_was_killed_in_its_write_is_served)
{
    od_trace_report report;
    pid_t child = traced_process();
    int file;
    odi_control *control = control_of(child, &file);

    for (int round = 0; round < 2; round++) {
        char path[256], value[300];

        snprintf(path, sizeof path, "%s", file_named(round == 0 ? "whole" : "torn"));
        snprintf(value, sizeof value, "%s:1K", path);
        od_trace_remote *remote = start(child, value);
        assert_int_equal(await(remote, true, &report), OD_TRACE_REMOTE_ENDED);
        assert_int_equal(access(path, F_OK), 0);
        od_trace_remote_close(remote);
        odi_add_relaxed(&control->asked, 1); /* as a command that was killed in its write */
    }
    odi_shared_free(control, sizeof *control, file);
    end_process(child);
}

TEST(a_request_whose_command_has_ended_creates_no_file)
{
    odi_control_answer answer = {0};
    pid_t child = traced_process();
    int file;
    odi_control *control = control_of(child, &file);

    assert_int_equal(kill(child, SIGSTOP), 0);
    od_trace_remote_close(start(child, file_named("late")));
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_comes_true(odi_page_words_read(&control->answered, control->answer, (uint64_t *)&answer, ODI_CONTROL_ANSWER_WORDS));
    assert_true(answer.number == 1 && answer.state == ODI_CONTROL_ENDED);
    assert_int_not_equal(access(file_named("late"), F_OK), 0);
    odi_shared_free(control, sizeof *control, file);
    end_process(child);
}

static void assert_refused(int process, const char *value, const char *part)
{
    message[0] = '\0';
    assert_null(od_trace_remote_start(process, value, message, sizeof message));
    if (strstr(message, part) == NULL)
        print_error("%s\n", message);
    assert_non_null(strstr(message, part));
}

static void asks_as_another_user(void *raw)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return; /* only root can */
    child_expects(od_trace_remote_start(*(pid_t *)raw, "/tmp/t", message, sizeof message) == NULL);
    child_expects(strstr(message, "belongs to another user") != NULL);
}

TEST(requests_that_cannot_be_made_are_refused)
{
    pid_t child = traced_process();
    od_trace_remote *remote = start(child, file_named("held"));

    assert_refused(child, file_named("other"), "another command traces the process");
    od_trace_remote_close(remote);
    assert_refused(child, "/tmp/t:10", "Write a limit with its unit.");
    assert_child_succeeds(asks_as_another_user, &child);
    end_process(child);
    assert_refused(0x7ffffff0, "/tmp/t", "no process has this number");
    assert_refused(getpid(), "/tmp/t", "publishes no page");
}

TEST(a_control_page_of_another_version_or_process_is_refused)
{
    int file, error;
    odi_control *page = odi_shared_new_for_all(ODI_CONTROL_NAME, sizeof *page, &file, &error);

    assert_non_null(page);
    page->magic = ODI_CONTROL_MAGIC;
    page->version = ODI_CONTROL_VERSION + 1;
    page->started = odi_shared_started(getpid());
    assert_refused(getpid(), "/tmp/t", "another version (2)");
    page->version = ODI_CONTROL_VERSION;
    page->bytes = sizeof *page;
    page->started++; /* as of a process that had this number before */
    assert_refused(getpid(), "/tmp/t", "publishes no page");
    odi_shared_free(page, sizeof *page, file);
}

TEST_PROGRAM
