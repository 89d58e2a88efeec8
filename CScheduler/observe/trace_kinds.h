/* trace_kinds.h — the kinds of events of a trace, and how an event's words are laid out.
 *
 *     words    ticks | kind:8, band:8 | object | word
 */
#ifndef ODI_OBSERVE_TRACE_KINDS_H
#define ODI_OBSERVE_TRACE_KINDS_H

typedef enum {
    ODI_TRACE_SUBMIT,     /* a closure; object: its queue or NULL, word: its identity, like the next three */
    ODI_TRACE_BEGIN,
    ODI_TRACE_END,
    ODI_TRACE_CANCEL,
    ODI_TRACE_PARK,       /* a worker sleeps until it is woken */
    ODI_TRACE_WAKE,
    ODI_TRACE_BLOCK,      /* a worker's job waits; object: the queue that it waits for or NULL, word: a static text or 0 */
    ODI_TRACE_UNBLOCK,
    ODI_TRACE_BENCH,      /* a worker is one too many, until it is called back or leaves */
    ODI_TRACE_RETURN,
    ODI_TRACE_BRANCH,     /* a stolen branch begins, and ends */
    ODI_TRACE_BRANCH_END,
    ODI_TRACE_STEAL,      /* object: the number of the thread that had the jobs, word: how many */
    ODI_TRACE_TIMER,      /* word: nanoseconds after its time */
    ODI_TRACE_SUSPEND,    /* object: the queue, like the next one */
    ODI_TRACE_RESUME,
    ODI_TRACE_START,      /* a worker's thread; word: whether it begins on the bench */
    ODI_TRACE_LEAVE
} odi_trace_kind;

/* Of an event without a band. */
#define ODI_TRACE_NO_BAND 255u

#endif
