/* trace_environment.c — what OVERDRIVE_RECORDER and OVERDRIVE_TRACE ask for, once in a process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "observe/recorder.h"
#include "observe/trace.h"
#include "os/clock.h"

#define RECORDED_NS (30 * ODI_SECOND)

/* FILE, with the process's number for %p. False: it is too long. */
static bool expand(const char *from, size_t length, int process, char *to, size_t capacity)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used + 24 < capacity; i++) {
        if (from[i] == '%' && i + 1 < length && from[i + 1] == 'p') {
            used += (size_t)snprintf(to + used, capacity - used, "%d", process);
            i++;
        } else {
            to[used++] = from[i];
        }
    }
    to[used] = '\0';
    return used + 24 < capacity;
}

/* The limit behind the last colon, if it is one: digits, then s, K, M or G. */
static size_t read_limit(const char *value, int64_t *most_ns, uint64_t *bytes)
{
    const char *colon = strrchr(value, ':');
    char *unit;

    if (colon == NULL || colon[1] < '0' || colon[1] > '9' || strchr(colon, '/') != NULL)
        return strlen(value);
    unsigned long long number = strtoull(colon + 1, &unit, 10);
    const char *known = *unit != '\0' && unit[1] == '\0' ? strchr("sKMG", *unit) : NULL;
    if (known == NULL || number == 0 || number > 1000000000)
        return 0;
    if (*known == 's')
        *most_ns = (int64_t)number * ODI_SECOND;
    else
        *bytes = (uint64_t)number << (*known == 'K' ? 10 : *known == 'M' ? 20 : 30);
    return (size_t)(colon - value);
}

bool odi_trace_read_value(const char *value, int process, char *path, size_t capacity, int64_t *most_ns, uint64_t *bytes)
{
    size_t length = read_limit(value, most_ns, bytes);

    return length != 0 && expand(value, length, process, path, capacity);
}

static void read_trace(void)
{
    const char *value = secure_getenv("OVERDRIVE_TRACE");
    char path[4096], message[1024] = "the value is no FILE, FILE:10s or FILE:64M. Write a limit with its unit.";
    int64_t most_ns = 0;
    uint64_t bytes = 0;

    if (value == NULL || *value == '\0')
        return;
    if (!odi_trace_read_value(value, getpid(), path, sizeof path, &most_ns, &bytes) ||
        !odi_trace_start(path, most_ns, bytes, NULL, message, sizeof message))
        odi_warn("OVERDRIVE_TRACE: %s Nothing is traced (%s).", message, value);
}

static void read_recorder(void)
{
    const char *value = secure_getenv("OVERDRIVE_RECORDER");
    char folder[4096], message[1024] = "the value is no DIRECTORY or DIRECTORY:30s. Write seconds with their unit.";
    int64_t most_ns = RECORDED_NS;
    uint64_t bytes = 0;

    if (value == NULL || *value == '\0')
        return;
    size_t length = read_limit(value, &most_ns, &bytes);
    if (length == 0 || bytes != 0 || !expand(value, length, getpid(), folder, sizeof folder) ||
        !odi_recorder_start(folder, most_ns, message, sizeof message))
        odi_warn("OVERDRIVE_RECORDER: %s Nothing is recorded (%s).", message, value);
}

void odi_recorder_from_environment(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;

    pthread_once(&read, read_recorder);
}

/* The recorder first: a trace finds its names and its clock. */
static void read_environment(void)
{
    odi_recorder_from_environment();
    read_trace();
}

void odi_trace_from_environment(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;

    pthread_once(&read, read_environment);
}
