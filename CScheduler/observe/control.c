#include "observe/control.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "observe/trace.h"
#include "os/shared.h"

static odi_control *control;
static int control_file;
static odi_control_request request;
static odi_control_answer answer;
static uint64_t trace; /* the number of the trace that was asked for; 0: none is written */

static void reply(odi_control_state state)
{
    answer.number = request.number;
    answer.state = state;
    odi_page_words_write(&control->answered, control->answer, (const uint64_t *)&answer, ODI_CONTROL_ANSWER_WORDS);
}

/* Ends the trace, unless it has ended. The program may have begun another one since. */
static void end_trace(void)
{
    if (trace != 0)
        (void)odi_trace_stop(trace, NULL);
    trace = 0;
}

static void reply_ended(void)
{
    odi_trace_sums sums;

    (void)odi_trace_running(&sums);
    trace = 0;
    answer = (odi_control_answer){.events = sums.events, .lost = sums.lost, .bytes = sums.bytes, .error = sums.error};
    reply(ODI_CONTROL_ENDED);
}

static void begin_trace(void)
{
    answer = (odi_control_answer){0};
    request.path[sizeof request.path - 1] = '\0';
    bool begun = odi_trace_start(request.path, request.most_ns, request.most_bytes, &trace, answer.message, sizeof answer.message);
    reply(begun ? ODI_CONTROL_WRITES : ODI_CONTROL_REFUSED);
}

void odi_control_look(void)
{
    uint64_t before = request.number;
    odi_control_request next;

    if (odi_page_words_read(&control->asked, control->request, (uint64_t *)&next, ODI_CONTROL_REQUEST_WORDS))
        request = next;
    bool is_new = request.number != before;
    if (is_new || (trace != 0 && !odi_shared_is_held(control_file))) {
        end_trace(); /* also that of a command that was killed */
        if (is_new && !request.stops && odi_shared_is_held(control_file)) /* a command that has ended wants no file */
            begin_trace();
        else
            reply_ended();
    } else if (trace != 0 && odi_trace_running(NULL) != trace) {
        reply_ended();
    }
}

int odi_control_open(void)
{
    int error = ENOMEM;

    control = odi_shared_new_for_all(ODI_CONTROL_NAME, sizeof *control, &control_file, &error);
    if (control == NULL)
        return error;
    memset(&request, 0, sizeof request);
    trace = 0;
    control->magic = ODI_CONTROL_MAGIC;
    control->version = ODI_CONTROL_VERSION;
    control->bytes = sizeof *control;
    control->process = getpid();
    control->started = odi_shared_started(getpid());
    return 0;
}

void odi_control_close(void)
{
    if (control == NULL)
        return;
    if (trace != 0) {
        end_trace();
        reply_ended();
    }
    odi_control_forked();
}

void odi_control_forked(void)
{
    if (control != NULL)
        odi_shared_free(control, sizeof *control, control_file);
    control = NULL;
    trace = 0;
}
