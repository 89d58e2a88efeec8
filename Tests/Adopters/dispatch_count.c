/* dispatch_count.c — preloaded into a program, counts what is submitted to libdispatch's queues other than main.
 *
 * At the end it appends a line "dispatch N tools M" to the file that OVERDRIVE_COUNTS names: N were submitted by the
 * program, M by the test library and Foundation for themselves. The drop-in types' own waiting for the wall clock is neither. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char _dispatch_main_q[] __attribute__((weak));
extern const char *dispatch_queue_get_label(void *queue) __attribute__((weak));

static _Atomic unsigned long program, tools;

/* Whose code submits: the first frame that is neither this file nor a part of Dispatch. */
static int from_tools(void) {
    void *frames[12];
    int count = backtrace(frames, 12);
    for (int i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL) continue;
        const char *name = strrchr(info.dli_fname, '/');
        name = name ? name + 1 : info.dli_fname;
        if (strstr(name, "dispatch_count") || strstr(name, "ispatch")) continue;
        return strstr(name, "libXCTest") || strstr(name, "libFoundation") || strstr(name, "libTesting") ||
               strstr(name, "lib_Testing") || strstr(name, "libswift_Concurrency");
    }
    return 0;
}

/* Where libdispatch tells the drop-in types that a time of the wall clock has come. What is then submitted to the engine is
 * counted there. */
static int is_watching(void *queue) {
    const char *label = dispatch_queue_get_label ? dispatch_queue_get_label(queue) : NULL;

    return label != NULL && strcmp(label, "overdrive.watching") == 0;
}

static void note(void *queue) {
    if (queue == (void *)_dispatch_main_q || is_watching(queue)) return;
    atomic_fetch_add(from_tools() ? &tools : &program, 1);
}

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

#define FORWARD(name, queue, parameters, arguments)                   \
    void name parameters {                                            \
        static void (*real) parameters;                               \
        if (real == NULL) real = (void (*) parameters)next(#name);    \
        note(queue);                                                  \
        real arguments;                                               \
    }

FORWARD(dispatch_async, queue, (void *queue, void *block), (queue, block))
FORWARD(dispatch_async_f, queue, (void *queue, void *context, void *work), (queue, context, work))
FORWARD(dispatch_barrier_async, queue, (void *queue, void *block), (queue, block))
FORWARD(dispatch_barrier_async_f, queue, (void *queue, void *context, void *work), (queue, context, work))
FORWARD(dispatch_group_async, queue, (void *group, void *queue, void *block), (group, queue, block))
FORWARD(dispatch_group_async_f, queue, (void *group, void *queue, void *context, void *work),
        (group, queue, context, work))
FORWARD(dispatch_after, queue, (unsigned long when, void *queue, void *block), (when, queue, block))
FORWARD(dispatch_after_f, queue, (unsigned long when, void *queue, void *context, void *work),
        (when, queue, context, work))

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("OVERDRIVE_COUNTS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file == NULL) return;
    fprintf(file, "dispatch %lu tools %lu\n", program, tools);
    fclose(file);
}
