/* task_cancel.c — a cancel against whoever leaves word how it is told of one: Task.tellCancelled, Task.launch and
 * Task.onCancel of Sources/Overdrive, in C for the reason that task_word.c names.
 *
 * Word is left among the task's rarely needed things, which whoever needs them first makes. Who cancels says so in
 * the task's word, then looks there; who leaves word looks whether it was cancelled. One of them sees the other,
 * and an asynchronous body or a handler hears of the cancel once.
 *
 * transcribes: Sources/Overdrive/Task/AnyTask+End.swift:tellCancelled ffe1da77
 * transcribes: Sources/Overdrive/Task/Task+Forms.swift:launch bf34c0f5
 * transcribes: Sources/Overdrive/Handlers/Task+Handlers.swift:onCancel 159efbe9
 */
#include "base/atomic.h"
#include "model/scenario.h"

enum { READY = 1, EXECUTING = 2, PHASE = 3, CANCELLED = 4 };

/* TaskExtras, the fields of cancelling */
typedef struct {
    odi_atomic(int) lock;
    bool cancel_is_told;
    bool cancel_body;     /* word is left by the asynchronous body */
    int cancel_handlers;
} extras;

static odi_atomic(uint32_t) word;
static odi_atomic(extras *) lazy_extras;
static odi_atomic(int) body_heard, handler_heard;
static bool body_is_late, handler_is_late; /* and hears of the cancel by itself */

/* ---- AnyTask ---- */

static uint32_t standing(void) { return odi_load_acquire(&word, none); }

/* standingInFull: a read-modify-write that changes nothing */
static uint32_t standing_in_full(void) { return odi_add_seqcst(&word, 0, none); }

static extras *make_extras(void)
{
    extras *found = odi_load_acquire(&lazy_extras, none), *made;

    if (found != NULL)
        return found;
    made = model_calloc(1, sizeof *made);
    if (odi_cas_acqrel_acquire(&lazy_extras, &found, made, none))
        return made;
    model_free(made);
    return found;
}

static void lock(extras *it)
{
    for (int open = 0; !odi_cas_acquire(&it->lock, &open, 1, none); open = 0)
        odi_spin_pause();
}

static void unlock(extras *it) { odi_store_release(&it->lock, 0, none); }

/* ---- Task ---- */

static void tell_cancelled(void)
{
    bool executing = (standing() & PHASE) == EXECUTING;
    extras *it = executing ? make_extras() : odi_load_acquire(&lazy_extras, none);

    if (it == NULL)
        return;
    lock(it);
    it->cancel_is_told = true;
    bool body = it->cancel_body;
    int handlers = it->cancel_handlers;
    it->cancel_body = false;
    it->cancel_handlers = 0;
    unlock(it);
    odi_add_relaxed(&body_heard, body);
    odi_add_relaxed(&handler_heard, handlers);
}

static void cancels(void)
{
    (void)odi_or_acqrel(&word, CANCELLED, none); /* AnyTask.step */
    tell_cancelled();
}

/* Task.launch, behind the start of the body */
static void launches(void)
{
    extras *it = make_extras();

    lock(it);
    bool is_cancelled = it->cancel_is_told;
    it->cancel_body = !is_cancelled;
    unlock(it);
    odi_add_relaxed(&body_heard, is_cancelled);
    body_is_late = is_cancelled;
}

/* Task.onCancel */
static void brings_a_handler(void)
{
    extras *it = make_extras();
    bool is_late;

    lock(it);
    is_late = it->cancel_is_told || (standing_in_full() & CANCELLED) != 0;
    it->cancel_handlers += !is_late;
    unlock(it);
    odi_add_relaxed(&handler_heard, is_late);
    handler_is_late = is_late;
}

/* ---- scenarios ---- */

static void ready(void) { odi_store_relaxed(&word, READY); }
static void executing(void) { odi_store_relaxed(&word, EXECUTING); }
static void the_body_heard(void) { model_check(odi_load_relaxed(&body_heard) == 1); }
static void the_handler_heard(void) { model_check(odi_load_relaxed(&handler_heard) == 1); }
static void both_heard(void) { the_body_heard(); the_handler_heard(); }

MODEL_SCENARIO(cancel_as_an_asynchronous_body_begins, executing, the_body_heard, launches, cancels)
MODEL_REACHES(cancel_as_an_asynchronous_body_begins, body_is_late)
MODEL_SCENARIO(cancel_as_a_handler_is_brought, ready, the_handler_heard, brings_a_handler, cancels)
MODEL_REACHES(cancel_as_a_handler_is_brought, handler_is_late)
MODEL_SCENARIO(cancel_of_a_body_that_begins_with_a_handler, executing, both_heard, launches, cancels,
               brings_a_handler)
MODEL_REACHES(cancel_of_a_body_that_begins_with_a_handler, body_is_late && !handler_is_late,
              !body_is_late && handler_is_late)
