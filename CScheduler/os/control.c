/* control.c — the threads of a controlled run, their steps and waits, and the run's clock: control.h. */
#include "os/control_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/futex.h"

/* Jumps of the clock without progress, after which only the monitor still moves. */
enum { MOST_IDLE_JUMPS = 1000 };

/* A thread that reads the clock in a loop waits for time to pass. */
enum { READS_PER_STEP = 1000 };

/* A thread that yields while no other is ready. */
#define ALONE_NS (10 * ODI_MICROSECOND)

_Thread_local odi_baton *odi_control_here __attribute__((tls_model("initial-exec")));

/* ---- the lock ---- */

#ifdef ODI_TSAN
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

void odi_control_lock(pthread_mutex_t *lock)
{
#ifdef ODI_TSAN
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    pthread_mutex_lock(lock);
}

void odi_control_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
#ifdef ODI_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
#endif
}

/* ---- the log ---- */

static bool is_progress(od_control_kind kind)
{
    return kind != OD_CONTROL_STARTS && kind != OD_CONTROL_ENDS && kind != OD_CONTROL_WAITS && kind != OD_CONTROL_WAKES &&
           kind != OD_CONTROL_YIELDS;
}

static void add_step(od_control *control, const od_control_step *step)
{
    if (control->report.steps == control->room) {
        size_t room = control->room == 0 ? 256 : 2 * control->room;
        od_control_step *log = realloc(control->log, room * sizeof *log);

        if (log == NULL)
            return; /* the account has a gap */
        control->log = log;
        control->room = room;
    }
    control->log[control->report.steps++] = *step;
}

/* ---- who goes next: lock held ---- */

static void make_ready(odi_baton *thread, bool timed_out)
{
    thread->state = ODI_BATON_READY;
    thread->timed_out = timed_out;
    thread->word = NULL;
    thread->control->changes++;
}

static void pass_time(od_control *control, int64_t now)
{
    if (now > control->now)
        control->now = now;
    for (uint32_t i = 0; i < control->count; i++) {
        odi_baton *thread = control->threads[i];

        if (thread->state == ODI_BATON_WAITING && thread->deadline <= control->now)
            make_ready(thread, true);
    }
}

/* Returns the next deadline. After many jumps without progress the monitor's ticks no longer count: it only watches. */
static int64_t next_deadline(const od_control *control)
{
    int64_t earliest = ODI_FOREVER;

    for (uint32_t i = 0; i < control->count; i++) {
        const odi_baton *thread = control->threads[i];
        bool counts = !thread->watches || control->idle_jumps < MOST_IDLE_JUMPS;

        if (counts && thread->state == ODI_BATON_WAITING && thread->deadline < earliest)
            earliest = thread->deadline;
    }
    return earliest;
}

static uint64_t ready_now(const od_control *control)
{
    uint64_t ready = 0;

    for (uint32_t i = 0; i < control->count; i++) {
        if (control->threads[i]->state == ODI_BATON_READY)
            ready |= UINT64_C(1) << i;
    }
    return ready;
}

/* Returns the ready threads, one bit each. If no thread is ready, time jumps to the next deadline. 0: no thread will be
 * ready unless a thread outside the run wakes one. */
static uint64_t ready_threads(od_control *control)
{
    uint64_t ready;

    while ((ready = ready_now(control)) == 0) {
        int64_t next = next_deadline(control);

        if (next == ODI_FOREVER)
            return 0;
        control->idle_jumps++;
        pass_time(control, next);
    }
    return ready;
}

static void die(od_control *control, od_control_end end)
{
    control->report.end = end;
    control->dead = true;
    control->holder = NULL;
    pthread_cond_signal(&control->event);
}

static void hand_over(od_control *control, odi_baton *to)
{
    control->holder = to;
    control->changes++;
    pthread_cond_signal(&to->go);
}

/* Hands the baton to the thread that goes on, if there is one. */
static void pass_on(od_control *control, odi_baton *from, od_control_step *step, bool yields)
{
    uint64_t ready = ready_threads(control);

    step->ready = ready;
    step->chosen = step->thread;
    step->decision = control->decisions;
    if (ready == 0) {
        control->holder = NULL;
        control->changes++;
        pthread_cond_signal(&control->event);
    } else {
        bool decides = (ready & (ready - 1)) != 0;
        uint32_t next = decides ? odi_control_policy_choose(control, from, ready, yields, &step->usual) : (uint32_t)__builtin_ctzll(ready);

        control->decisions += decides;
        step->chosen = (uint8_t)next;
        if (control->threads[next] != control->holder)
            hand_over(control, control->threads[next]);
    }
    add_step(control, step);
}

/* The wait ends when another thread hands the baton over. In a dead run it does not end. */
static void await_baton(odi_baton *mine)
{
    while (mine->control->holder != mine)
        pthread_cond_wait(&mine->go, &mine->control->lock);
}

static od_control_step step_of(odi_baton *mine, od_control_kind kind, const char *label)
{
    od_control_step step = {.kind = (uint8_t)kind, .thread = (uint8_t)mine->number};

    mine->control->reads = 0;
    mine->control->changes++;
    if (is_progress(kind))
        mine->control->idle_jumps = 0;
    snprintf(step.label, sizeof step.label, "%s", label != NULL ? label : "");
    return step;
}

/* A step of the holder, after which another thread may go on. Lock held. */
static void take_step(odi_baton *mine, od_control_step *step, bool yields)
{
    od_control *control = mine->control;

    if (!control->dead && control->report.steps >= control->options.most_steps)
        die(control, OD_CONTROL_LIVELOCK);
    if (!control->dead)
        pass_on(control, mine, step, yields);
    await_baton(mine);
}

static void step_with(od_control_kind kind, const char *label, const char *file, uint32_t line)
{
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;

    odi_control_lock(&control->lock);
    od_control_step step = step_of(mine, kind, label);
    step.file = file;
    step.line = line;
    take_step(mine, &step, kind == OD_CONTROL_YIELDS);
    odi_control_unlock(&control->lock);
}

static const char *label_of(const od_control *control, const void *queue)
{
    return queue != NULL && control->options.label != NULL ? control->options.label(queue) : NULL;
}

static void check_owner(const od_control *control, const void *queue)
{
    const char *label = label_of(control, queue);
    char text[160];

    if (control->options.owns == NULL || control->options.owns(queue))
        return;
    snprintf(text, sizeof text, "submit: the queue was made outside the run (\"%s\"). Make it in the body.",
             label != NULL ? label : "");
    od_control_fail(text, NULL, 0);
}

void odi_control_step(od_control_kind kind, const void *queue)
{
    odi_baton *mine = odi_control_here;

    if (mine == NULL)
        return;
    if (kind == OD_CONTROL_SUBMITS && queue != NULL)
        check_owner(mine->control, queue);
    step_with(kind, label_of(mine->control, queue), NULL, 0);
}

void od_control_point(od_control_kind kind, const char *label, const char *file, uint32_t line)
{
    if (odi_is_controlled())
        step_with(kind, label, file, line);
}

void od_control_refuse_threads(bool refuses)
{
    if (!odi_is_controlled())
        return;
    od_control *control = odi_control_here->control;

    odi_control_lock(&control->lock);
    control->refuses = refuses;
    odi_control_unlock(&control->lock);
}

bool od_control_yield(void)
{
    if (!odi_is_controlled())
        return false;
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;

    odi_control_lock(&control->lock);
    od_control_step step = step_of(mine, OD_CONTROL_YIELDS, NULL);
    if (ready_threads(control) == UINT64_C(1) << mine->number)
        pass_time(control, control->now + ALONE_NS);
    take_step(mine, &step, true);
    odi_control_unlock(&control->lock);
    return true;
}

void od_control_fail(const char *text, const char *file, uint32_t line)
{
    if (!odi_is_controlled())
        return;
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;

    odi_control_lock(&control->lock);
    if (!control->dead && !control->report.failed) { /* the log of a dead run is being read */
        od_control_step step = step_of(mine, OD_CONTROL_FAILS, NULL);

        step.file = file;
        step.line = line;
        step.chosen = step.thread;
        step.decision = control->decisions;
        control->report.failed = true;
        control->report.failed_step = (uint32_t)control->report.steps;
        snprintf(control->report.text, sizeof control->report.text, "%s", text);
        add_step(control, &step);
    }
    odi_control_unlock(&control->lock);
}

/* ---- waits ---- */

/* Waits for a wake-up or the deadline. Lock held. Returns whether it timed out. */
static bool wait_for(odi_baton *mine, const void *word, int64_t deadline_ns, uint32_t names, const char *what)
{
    od_control_step step = step_of(mine, OD_CONTROL_WAITS, what != NULL ? what : mine->waits_for);

    mine->state = ODI_BATON_WAITING;
    mine->word = word;
    mine->names = names;
    mine->deadline = deadline_ns;
    mine->since = mine->control->waits++;
    if (what != NULL)
        mine->waits_for = what;
    take_step(mine, &step, false);
    if (what != NULL)
        mine->waits_for = NULL;
    return mine->timed_out;
}

int odi_control_futex_wait(odi_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns, uint32_t names)
{
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;
    odi_futex_result result = ODI_FUTEX_CHANGED;

    odi_control_lock(&control->lock);
    if (odi_load_relaxed(word) == expected) { /* relaxed: the lock orders it, as the kernel's does */
        bool over = deadline_ns <= control->now;

        result = over || wait_for(mine, (const void *)word, deadline_ns, names, NULL) ? ODI_FUTEX_TIMED_OUT : ODI_FUTEX_WOKEN;
    }
    odi_control_unlock(&control->lock);
    return (int)result;
}

/* Readies the waiter that has waited longest. Lock held. Returns false if there is none. */
static bool wake_one(od_control *control, const void *word, uint32_t names)
{
    odi_baton *first = NULL;

    for (uint32_t i = 0; i < control->count; i++) {
        odi_baton *thread = control->threads[i];

        if (thread->state == ODI_BATON_WAITING && thread->word == word && thread->names & names &&
            (first == NULL || thread->since < first->since))
            first = thread;
    }
    if (first != NULL)
        make_ready(first, false);
    return first != NULL;
}

int odi_control_wake_in(od_control *control, const void *word, int count, uint32_t names)
{
    int woken = 0;

    odi_control_lock(&control->lock);
    while (woken < count && wake_one(control, word, names))
        woken++;
    if (woken > 0 && odi_control_here != NULL) {
        od_control_step step = step_of(odi_control_here, OD_CONTROL_WAKES, NULL);

        take_step(odi_control_here, &step, false);
    } else if (woken > 0) {
        control->report.outside++;
        if (control->holder == NULL && !control->dead) {
            uint64_t ready = ready_threads(control);

            hand_over(control, control->threads[__builtin_ctzll(ready)]);
        }
    }
    odi_control_unlock(&control->lock);
    return woken;
}

void od_control_wait(const void *place, const char *what)
{
    odi_baton *mine = odi_control_here;

    odi_control_lock(&mine->control->lock);
    (void)wait_for(mine, place, ODI_FOREVER, UINT32_MAX, what);
    odi_control_unlock(&mine->control->lock);
}

void od_control_wake(const void *place)
{
    if (odi_is_controlled())
        (void)odi_control_wake_in(odi_control_here->control, place, 1, UINT32_MAX);
}

void odi_control_note_wait(const char *what, const void *queue)
{
    odi_baton *mine = odi_control_here;
    const char *label = label_of(mine->control, queue);

    mine->waits_for = what;
    snprintf(mine->waits_at, sizeof mine->waits_at, "%s", what != NULL && label != NULL ? label : "");
}

/* ---- the clock ---- */

int64_t odi_control_now(void)
{
    od_control *control = odi_control_here->control;

    odi_control_lock(&control->lock);
    if (control->reads++ >= READS_PER_STEP)
        pass_time(control, control->now + ODI_MICROSECOND);
    int64_t now = control->now;
    odi_control_unlock(&control->lock);
    return now;
}

void odi_control_sleep(int64_t ns)
{
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;

    odi_control_lock(&control->lock);
    int64_t until = ns >= INT64_MAX - control->now ? INT64_MAX : control->now + ns;
    (void)wait_for(mine, NULL, until, 0, "for a time");
    odi_control_unlock(&control->lock);
}

bool odi_control_sleeps(int thread)
{
    od_control *control = odi_control_here->control;
    bool sleeps = false;

    odi_control_lock(&control->lock);
    for (uint32_t i = 0; i < control->count; i++)
        sleeps = sleeps || (control->threads[i]->thread_id == thread && control->threads[i]->state == ODI_BATON_WAITING);
    odi_control_unlock(&control->lock);
    return sleeps;
}

/* ---- threads ---- */

odi_baton *odi_control_thread_in(od_control *control, const char *name)
{
    bool refused = control->refuses || control->count == OD_CONTROL_THREADS;
    odi_baton *thread = refused ? NULL : calloc(1, sizeof *thread);

    if (thread == NULL)
        return NULL;
    pthread_cond_init(&thread->go, NULL);
    thread->control = control;
    thread->watches = strcmp(name, "od-monitor") == 0;
    thread->priority = odi_control_policy_priority(control);
    snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->number = control->count;
    control->threads[control->count++] = thread;
    return thread;
}

odi_baton *odi_control_thread_new(const char *name)
{
    od_control *control = odi_control_here->control;

    odi_control_lock(&control->lock);
    odi_baton *thread = odi_control_thread_in(control, name);
    odi_control_unlock(&control->lock);
    return thread;
}

void odi_control_thread_failed(odi_baton *thread)
{
    odi_control_lock(&thread->control->lock);
    thread->state = ODI_BATON_ENDED;
    odi_control_unlock(&thread->control->lock);
}

/* A hand-over between two CPUs takes ten times as long as on one. */
static void pin(od_control *control)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    if (control->cpu < 0)
        control->cpu = sched_getcpu();
    if (control->cpu >= 0 && control->cpu < CPU_SETSIZE) {
        CPU_SET((size_t)control->cpu, &cpus);
        (void)sched_setaffinity(0, sizeof cpus, &cpus);
    }
}

void odi_control_thread_begin(odi_baton *mine)
{
    od_control *control = mine->control;

    odi_control_here = mine;
    odi_control_lock(&control->lock);
    await_baton(mine);
    mine->thread_id = (int)syscall(SYS_gettid);
    pin(control);
    odi_control_unlock(&control->lock);
}

void odi_control_thread_end(void)
{
    odi_baton *mine = odi_control_here;
    od_control *control = mine->control;

    odi_control_here = NULL;
    odi_tsan_release(control);
    odi_control_lock(&control->lock);
    od_control_step step = step_of(mine, OD_CONTROL_ENDS, NULL);
    mine->state = ODI_BATON_ENDED;
    if (control->dead)
        await_baton(mine);
    pass_on(control, mine, &step, false);
    odi_control_unlock(&control->lock);
}
