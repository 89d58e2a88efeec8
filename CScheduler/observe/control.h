/* control.h — the second page of a process that publishes one: a command asks for a trace there.
 *
 * The page's thread (page.h) looks here five times a second. A request and an answer are
 * words under a sequence lock each (page_words.h). The command holds a lock on the page's file. If the command ends, the
 * kernel releases that lock, and the trace ends.
 *
 * States   IDLE -> WRITING      a request, if the file can be created
 *          WRITING -> IDLE      the trace's limit, a request to stop, the command's end, the page's end
 *
 * Owns     the page, and the number of the trace that was asked for.
 * Never    ends a trace that the program has begun.
 * Threads  open, close, look: the page's thread, or under the page's lock. The rest: the command's thread.
 */
#ifndef ODI_OBSERVE_CONTROL_H
#define ODI_OBSERVE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/page_words.h"

#pragma GCC visibility push(hidden)

enum { ODI_CONTROL_VERSION = 1 };
#define ODI_CONTROL_NAME "overdrive-control"
#define ODI_CONTROL_MAGIC UINT64_C(0x6c74632d6472766f) /* "ovrd-ctl" */

typedef struct {
    uint64_t number; /* of the request; 0: none yet */
    uint64_t stops;  /* the trace of the request before is to end */
    int64_t most_ns;
    uint64_t most_bytes;
    char path[4096];
} odi_control_request;

typedef enum { ODI_CONTROL_REFUSED = 1, ODI_CONTROL_WRITES, ODI_CONTROL_ENDED } odi_control_state;

typedef struct {
    uint64_t number; /* of the request that it answers */
    uint64_t state;
    uint64_t events, lost, bytes;
    int64_t error;      /* of the last write: an errno value */
    char message[1024]; /* why it is refused */
} odi_control_answer;

enum {
    ODI_CONTROL_REQUEST_WORDS = sizeof(odi_control_request) / sizeof(uint64_t),
    ODI_CONTROL_ANSWER_WORDS = sizeof(odi_control_answer) / sizeof(uint64_t),
};

typedef struct {
    uint64_t magic;
    uint32_t version, bytes;
    int64_t process;
    uint64_t started; /* when the process has started: a number may be reused */
    odi_page_word asked, request[ODI_CONTROL_REQUEST_WORDS];
    odi_page_word answered, answer[ODI_CONTROL_ANSWER_WORDS];
} odi_control;

/* Makes the page. Returns 0 or an errno value. */
int odi_control_open(void);

/* Ends a trace that was asked for, and frees the page. */
void odi_control_close(void);

/* Answers a request, and ends a trace whose command has ended. */
void odi_control_look(void);

/* In a forked child, whose page is the parent's. */
void odi_control_forked(void);

#pragma GCC visibility pop

#endif
