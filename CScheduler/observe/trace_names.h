/* trace_names.h — texts of a trace, and which object has which of them since when.
 *
 * An object's memory may serve another one later, so each name has the time from which it holds. Both tables are capped:
 * what has no room is "other".
 *
 * Threads  anyone; begin and end: who holds the control lock.
 */
#ifndef ODI_OBSERVE_TRACE_NAMES_H
#define ODI_OBSERVE_TRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* An object's name from a time on. */
typedef struct {
    const void *object;
    uint64_t since;
    uint32_t text, before; /* of the same head; 0: none */
} odi_trace_name_entry;

enum {
    ODI_TRACE_TEXT_BYTES = 96,
    ODI_TRACE_TEXTS = 4096,
    ODI_TRACE_OBJECTS = 65536,
    ODI_TRACE_OTHER = 0 /* the number of the text for what has no room */
};

/* `kept`: later ends keep the names, and an object keeps its last 16. False: memory is short, or names that are not kept
 * are in use. */
bool odi_trace_names_begin(bool kept);
void odi_trace_names_end(void);

/* The tables as they are, for a file. */
typedef struct {
    const char (*text)[ODI_TRACE_TEXT_BYTES];
    const odi_trace_name_entry *name;
    uint32_t texts, names;
} odi_trace_names_view;

/* Takes the lock without waiting long; a signal handler may call it. False: it has not the lock, or there are no names.
 * odi_trace_names_unlock follows. */
bool odi_trace_names_try_view(odi_trace_names_view *view);

/* The number of a text. Control characters and broken UTF-8 become question marks; a long text is cut. */
uint32_t odi_trace_text(const char *text);
/* Makes such a text of another one, whatever its length. */
void odi_trace_clean(char *text);
/* Copies the text of that number. */
void odi_trace_copy_text(uint32_t number, char text[ODI_TRACE_TEXT_BYTES]);

void odi_trace_names_set(const void *object, uint64_t ticks, const char *label);
/* Returns the text of the object at a time. Sets *until (if not NULL) to the time of the object's next name. */
uint32_t odi_trace_names_of(const void *object, uint64_t ticks, uint64_t *until);

/* Changes with each name that is set. A reader of an event has that of its name, or a later one. */
uint32_t odi_trace_names_version(void);

/* Around a fork; the last one in the child, which gives the lock up too. */
void odi_trace_names_lock(void);
void odi_trace_names_unlock(void);
void odi_trace_names_forked(void);

#pragma GCC visibility pop

#endif
