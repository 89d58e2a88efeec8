/* harness.h — how a contender in C or C++ is asked and how it answers.
 *
 * A contender is a program: `contender WORKLOAD key=value…` measures one workload in this process
 * and prints, one per line,
 *
 *     sample NANOSECONDS ANSWER     one measurement of the whole workload, and what it computed
 *     fact NAME VALUE               something counted on the side
 *     check ANSWER                  what a pass after the timed ones computed, where these compute nothing
 *     end                           everything went well
 *
 * and `contender list` prints the names of its workloads. BenchmarkKit is the same in Swift.
 */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int harness_argc;
static char **harness_argv;

/* The value of `key=` among the arguments. */
static inline int64_t harness_value(const char *key, int64_t otherwise) {
    const size_t length = strlen(key);
    for (int i = 2; i < harness_argc; i++) {
        if (strncmp(harness_argv[i], key, length) == 0 && harness_argv[i][length] == '=') {
            return strtoll(harness_argv[i] + length + 1, NULL, 10);
        }
    }
    return otherwise;
}

static inline int harness_workers(void) { return (int)harness_value("workers", 1); }

static inline int64_t harness_clock(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline int64_t harness_now(void) { return harness_clock(CLOCK_MONOTONIC); }

static inline void harness_sample(int64_t nanoseconds, uint64_t answer) {
    printf("sample %" PRId64 " %" PRIu64 "\n", nanoseconds, answer);
}

static inline void harness_fact(const char *name, double value) { printf("fact %s %.6g\n", name, value); }

/* The most resident memory of this program so far, in KiB. (ru_maxrss begins with that of whoever
 * started it.) */
static inline double harness_peak_resident(void) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "VmHWM: %ld", &kib) != 1) {
    }
    fclose(file);
    return (double)kib;
}

/* The resident memory of this program now, in bytes. */
static inline double harness_resident(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Runs `run` on a thread with 256 MiB of stack, of which what is used is touched: deep recursion
 * begins on whatever thread calls, and the main thread's 8 MiB say nothing of a scheduler. */
static inline void *harness_deep_entry(void *run) {
    void (*body)(void);
    memcpy(&body, &run, sizeof body);
    body();
    return NULL;
}
static inline void harness_deep(void (*run)(void)) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *argument;
    memcpy(&argument, &run, sizeof argument);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 20);
    if (pthread_create(&thread, &attributes, harness_deep_entry, argument) != 0) abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* Runs `once` to warm up (not with cold=1), then until the budget is spent; at least three times. `prepare` (may be
 * NULL) runs before each and is not timed. */
static inline void harness_measure(void (*prepare)(void *), uint64_t (*once)(void *), void *context) {
    const int64_t warm_up = harness_value("warmup_ms", 20) * 1000000;
    const int64_t budget = harness_value("budget_ms", 150) * 1000000;
    const int64_t least = harness_value("least", 3), most = harness_value("most", 2000);
    int64_t start = harness_now();
    while (harness_value("cold", 0) == 0) {
        if (prepare != NULL) prepare(context);
        once(context);
        if (harness_now() - start >= warm_up) break;
    }

    void (*counting)(uint64_t counts[3]);
    uint64_t counted[3] = {0, 0, 0}, recounted[3];
    void *preloaded = dlsym(RTLD_DEFAULT, "counting_read"); /* counting.c, where it is preloaded */
    memcpy(&counting, &preloaded, sizeof counting);
    if (counting != NULL) counting(counted);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    const int64_t cpu = harness_clock(CLOCK_PROCESS_CPUTIME_ID);
    int64_t samples = 0;
    start = harness_now();
    while (samples < least || (samples < most && harness_now() - start < budget)) {
        if (prepare != NULL) prepare(context);
        const int64_t began = harness_now();
        const uint64_t answer = once(context);
        const int64_t took = harness_now() - began;
        samples++;
        harness_sample(took, answer);
    }
    const int64_t spent = harness_now() - start;
    if (counting != NULL) {
        counting(recounted);
        const char *const names[3] = {"allocations", "futexes", "syscalls"};
        for (int i = 0; i < 3; i++) harness_fact(names[i], (double)(recounted[i] - counted[i]) / (double)samples);
    }
    getrusage(RUSAGE_SELF, &after);
    /* CPUs that were busy on average: what a spinning pool costs its neighbours. */
    harness_fact("cpus", (double)(harness_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)spent);
    harness_fact("switches", (double)(after.ru_nvcsw - before.ru_nvcsw) / (double)samples);
    harness_fact("preemptions", (double)(after.ru_nivcsw - before.ru_nivcsw) / (double)samples);
    harness_fact("rss_kib", harness_peak_resident());
}

typedef struct harness_entry {
    const char *name;
    void (*run)(void);
} harness_entry;

static inline int harness_main(int argc, char **argv, const harness_entry *entries, size_t count) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s WORKLOAD key=value… | list\n", argv[0]);
        return 64;
    }
    harness_argc = argc;
    harness_argv = argv;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(argv[1], "list") == 0) {
            puts(entries[i].name);
        } else if (strcmp(argv[1], entries[i].name) == 0) {
            entries[i].run();
            puts("end");
            return fflush(stdout) == 0 ? 0 : 74;
        }
    }
    if (strcmp(argv[1], "list") == 0) return 0;
    fprintf(stderr, "%s: no workload named %s\n", argv[0], argv[1]);
    return 69;
}

#endif
