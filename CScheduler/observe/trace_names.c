#include "observe/trace_names.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "os/pages.h"
#include "os/thread.h"

enum { TEXT_HEADS = 8192, OBJECT_HEADS = 65536, NAMES_KEPT = 16 };

typedef struct {
    uint32_t texts, names; /* so many are in use */
    uint32_t text_heads[TEXT_HEADS], object_heads[OBJECT_HEADS]; /* number + 1 */
    uint32_t text_before[ODI_TRACE_TEXTS];
    char text[ODI_TRACE_TEXTS][ODI_TRACE_TEXT_BYTES];
    odi_trace_name_entry name[ODI_TRACE_OBJECTS + 1]; /* from 1 on */
} tables;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tables *all; /* under the lock, both */
static bool kept;
static odi_atomic(uint32_t) version;

/* ---- texts ---- */

/* Bytes of the character at `text`; 0: it is none that may be shown. */
static size_t character(const unsigned char *text)
{
    size_t bytes = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

    if (text[0] < 0x20 || text[0] == 0x7f || (text[0] >= 0x80 && text[0] < 0xc2) || text[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf4 && text[1] > 0x8f);
    return overlong || beyond ? 0 : bytes;
}

static void clean(const char *from, char *to, size_t capacity)
{
    size_t used = 0;

    while (*from != '\0') {
        size_t bytes = character((const unsigned char *)from), room = bytes > 0 ? bytes : 1;

        if (used + room >= capacity)
            break;
        if (bytes > 0)
            memmove(to + used, from, bytes);
        else
            to[used] = '?';
        used += room;
        from += room;
    }
    to[used] = '\0';
}

void odi_trace_clean(char *text)
{
    clean(text, text, SIZE_MAX);
}

static uint32_t hash_of_text(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash % TEXT_HEADS;
}

/* Lock held. */
static uint32_t intern(const char *raw)
{
    char text[ODI_TRACE_TEXT_BYTES];

    clean(raw, text, sizeof text);
    uint32_t *head = &all->text_heads[hash_of_text(text)];
    for (uint32_t each = *head; each != 0; each = all->text_before[each - 1]) {
        if (strcmp(all->text[each - 1], text) == 0)
            return each - 1;
    }
    if (all->texts == ODI_TRACE_TEXTS)
        return ODI_TRACE_OTHER;
    uint32_t number = all->texts++;
    memcpy(all->text[number], text, sizeof text);
    all->text_before[number] = *head;
    *head = number + 1;
    return number;
}

uint32_t odi_trace_text(const char *text)
{
    pthread_mutex_lock(&lock);
    uint32_t number = all != NULL ? intern(text) : ODI_TRACE_OTHER;
    pthread_mutex_unlock(&lock);
    return number;
}

void odi_trace_copy_text(uint32_t number, char text[ODI_TRACE_TEXT_BYTES])
{
    pthread_mutex_lock(&lock);
    snprintf(text, ODI_TRACE_TEXT_BYTES, "%s", all != NULL ? all->text[number] : "");
    pthread_mutex_unlock(&lock);
}

/* ---- objects ---- */

static uint32_t *head_of(const void *object)
{
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);

    return &all->object_heads[hash >> 48];
}

/* The object's oldest name, out of its list, if NAMES_KEPT of them are kept. Otherwise a new one. 0: there is no room. */
static uint32_t take_name(const void *object)
{
    uint32_t *oldest = NULL, count = 0;

    for (uint32_t *each = head_of(object); kept && *each != 0; each = &all->name[*each].before) {
        oldest = all->name[*each].object == object ? each : oldest;
        count += all->name[*each].object == object;
    }
    if (count < NAMES_KEPT && all->names < ODI_TRACE_OBJECTS)
        return ++all->names;
    if (oldest == NULL)
        return 0;
    uint32_t number = *oldest;
    *oldest = all->name[number].before;
    return number;
}

/* Whether the object's last name is this one already, as of queues that follow each other. */
static bool has_text(const void *object, uint32_t text)
{
    uint32_t each = *head_of(object);

    while (each != 0 && all->name[each].object != object)
        each = all->name[each].before;
    return each != 0 && all->name[each].text == text;
}

void odi_trace_names_set(const void *object, uint64_t ticks, const char *label)
{
    pthread_mutex_lock(&lock);
    uint32_t text = all != NULL ? intern(label) : ODI_TRACE_OTHER;
    uint32_t number = all != NULL && !has_text(object, text) ? take_name(object) : 0;
    if (number != 0) {
        uint32_t *head = head_of(object);

        all->name[number] = (odi_trace_name_entry){object, ticks, text, *head};
        *head = number;
        odi_add_relaxed(&version, 1); /* relaxed: the object's events carry it (V1) */
    }
    pthread_mutex_unlock(&lock);
}

uint32_t odi_trace_names_version(void)
{
    return odi_load_relaxed(&version); /* relaxed: as above */
}

uint32_t odi_trace_names_of(const void *object, uint64_t ticks, uint64_t *until)
{
    uint32_t text = ODI_TRACE_OTHER;
    uint64_t next = UINT64_MAX;

    pthread_mutex_lock(&lock);
    uint32_t each = all != NULL ? *head_of(object) : 0;
    while (each != 0 && (all->name[each].object != object || all->name[each].since > ticks)) {
        if (all->name[each].object == object)
            next = all->name[each].since;
        each = all->name[each].before;
    }
    if (each != 0)
        text = all->name[each].text;
    pthread_mutex_unlock(&lock);
    if (until != NULL)
        *until = next;
    return text;
}

/* ---- a trace's beginning and end ---- */

bool odi_trace_names_begin(bool keeps)
{
    pthread_mutex_lock(&lock);
    bool ready = all != NULL && kept && !keeps;
    if (all == NULL && (all = odi_pages_reserve(sizeof *all)) != NULL) {
        kept = keeps;
        (void)intern("other");
        ready = true;
    }
    pthread_mutex_unlock(&lock);
    return ready;
}

void odi_trace_names_end(void)
{
    pthread_mutex_lock(&lock);
    if (!kept) {
        odi_pages_free_reserved(all, sizeof(tables));
        all = NULL;
    }
    pthread_mutex_unlock(&lock);
}

bool odi_trace_names_try_view(odi_trace_names_view *view)
{
    if (!odi_thread_lock_in_time(&lock))
        return false;
    if (all == NULL) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    *view = (odi_trace_names_view){(const char(*)[ODI_TRACE_TEXT_BYTES])all->text, all->name + 1, all->texts, all->names};
    return true;
}

/* ---- around a fork ---- */

void odi_trace_names_lock(void)
{
    pthread_mutex_lock(&lock);
}

void odi_trace_names_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void odi_trace_names_forked(void)
{
    kept = false;
    odi_pages_free_reserved(all, sizeof(tables));
    all = NULL;
    pthread_mutex_unlock(&lock);
}
