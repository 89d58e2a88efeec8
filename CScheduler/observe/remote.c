/* remote.c — the command's half of control.h: asks another process for a trace. */
#include "include/od_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/control.h"
#include "observe/trace.h"
#include "os/clock.h"
#include "os/shared.h"

/* A process that is stopped, or whose thread rests after a long renewal, answers late. */
#define LONGEST_ANSWER_NS (30 * ODI_SECOND)

struct od_trace_remote {
    odi_control *control;
    int file, process;
    uint64_t started;
    int64_t asked_ns; /* when the last request was written */
    odi_control_request request;
    odi_control_answer answer;
};

static void refuse(char *message, size_t capacity, const char *problem, int process, const char *remedy)
{
    (void)snprintf(message, capacity, "%s (%d). %s", problem, process, remedy);
}

static void tell_error(int error, int process, char *message, size_t capacity)
{
    switch (error) {
    case ESRCH:
        refuse(message, capacity, "no process has this number", process, "Name a process that runs.");
        break;
    case ENOENT:
        refuse(message, capacity, "the process publishes no page", process, "Start it with OVERDRIVE_TOP=1.");
        break;
    case EACCES:
    case EPERM:
        refuse(message, capacity, "the process belongs to another user", process, "Run the command as that user.");
        break;
    case EBUSY:
        refuse(message, capacity, "another command traces the process", process, "End that command first.");
        break;
    default:
        refuse(message, capacity, "cannot read the page of the process", process, "Raise the limits of memory and files.");
    }
}

/* False: why not is in `message`. */
static bool is_sound(od_trace_remote *remote, char *message, size_t capacity)
{
    const odi_control *it = remote->control;

    if (it->magic != ODI_CONTROL_MAGIC || it->started != odi_shared_started(remote->process))
        tell_error(ENOENT, remote->process, message, capacity);
    else if (it->version != ODI_CONTROL_VERSION || it->bytes != sizeof *it)
        refuse(message, capacity, "the page has another version", (int)it->version, "Use the command of the program's own version.");
    else if (!odi_shared_hold(remote->file))
        tell_error(EBUSY, remote->process, message, capacity);
    else
        return true;
    return false;
}

/* The file's lock is held, so this thread is the one writer. */
static void ask(od_trace_remote *remote)
{
    odi_control *control = remote->control;

    remote->request.number++;
    remote->asked_ns = odi_clock_now();
    odi_page_words_write(&control->asked, control->request, (const uint64_t *)&remote->request, ODI_CONTROL_REQUEST_WORDS);
}

od_trace_remote *od_trace_remote_start(int process, const char *value, char *message, size_t capacity)
{
    int error = 0;
    od_trace_remote *remote = calloc(1, sizeof *remote);

    if (remote == NULL) {
        tell_error(ENOMEM, process, message, capacity);
        return NULL;
    }
    remote->process = process;
    remote->control = odi_shared_open_for_writing(process, ODI_CONTROL_NAME, sizeof *remote->control, &remote->file, &error);
    if (remote->control == NULL) {
        tell_error(error, process, message, capacity);
        free(remote);
        return NULL;
    }
    if (!is_sound(remote, message, capacity)) {
        od_trace_remote_close(remote);
        return NULL;
    }
    remote->started = remote->control->started;
    /* The number follows that of the last command, which may have been killed in its write: no answer has the new number.
     * relaxed: as in ask */
    remote->request.number = odi_load_relaxed(&remote->control->request[0]);
    if (!odi_trace_read_value(value, process, remote->request.path, sizeof remote->request.path, &remote->request.most_ns,
                              &remote->request.most_bytes)) {
        (void)snprintf(message, capacity, "the value is no FILE, FILE:10s or FILE:64M (%s). Write a limit with its unit.", value);
        od_trace_remote_close(remote);
        return NULL;
    }
    ask(remote);
    return remote;
}

void od_trace_remote_stop(od_trace_remote *remote)
{
    if (remote->request.stops)
        return;
    remote->request.stops = 1;
    ask(remote);
}

od_trace_remote_status od_trace_remote_look(od_trace_remote *remote, od_trace_report *report, char *message, size_t capacity)
{
    odi_control_answer *answer = &remote->answer;

    *report = (od_trace_report){0};
    if (remote->started != odi_shared_started(remote->process)) {
        refuse(message, capacity, "the process has ended", remote->process, "Its trace ends there.");
        return OD_TRACE_REMOTE_GONE;
    }
    bool has = odi_page_words_read(&remote->control->answered, remote->control->answer, (uint64_t *)answer, ODI_CONTROL_ANSWER_WORDS);
    if (!has || answer->number != remote->request.number) {
        if (odi_clock_now() - remote->asked_ns < LONGEST_ANSWER_NS)
            return OD_TRACE_REMOTE_WAITS;
        refuse(message, capacity, "the process does not answer", remote->process, "Continue it if it is stopped.");
        return OD_TRACE_REMOTE_REFUSED;
    }
    *report = (od_trace_report){answer->events, answer->lost, answer->bytes};
    answer->message[sizeof answer->message - 1] = '\0';
    if (answer->state == ODI_CONTROL_WRITES)
        return OD_TRACE_REMOTE_WRITES;
    if (answer->state == ODI_CONTROL_ENDED && answer->error == 0)
        return OD_TRACE_REMOTE_ENDED;
    if (answer->state == ODI_CONTROL_ENDED)
        (void)snprintf(message, capacity, "cannot write the file (%s). Free space, or limit the size: FILE:64M.", strerror((int)answer->error));
    else
        (void)snprintf(message, capacity, "%s", answer->message);
    return OD_TRACE_REMOTE_REFUSED;
}

void od_trace_remote_close(od_trace_remote *remote)
{
    odi_shared_free(remote->control, sizeof *remote->control, remote->file);
    free(remote);
}
