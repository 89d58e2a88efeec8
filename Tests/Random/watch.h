/* watch.h — programs in a child, which is watched: whether it fails, hangs, or stands still as it may. */
#ifndef RANDOM_WATCH_H
#define RANDOM_WATCH_H

#include <sys/types.h>

#include "Random/shared.h"

/* What a child is to run: programs of `count` seeds, the first and those `step` apart from it, without the
 * operations that are taken away, each `times` times, or until `cpu_ns` are used. */
typedef struct task {
    uint64_t first;
    uint64_t step;
    uint64_t count;
    int times;
    int64_t cpu_ns;          /* INT64_MAX: any */
    const bool *gone;        /* NULL: none */
    void (*run)(const program *);
} task;

typedef enum judgement { CLEAN, STOOD_STILL, FOUND } judgement;

typedef struct verdict {
    judgement outcome;
    uint64_t seed;     /* of the program at which it ended */
    char why[1200];
    char said[8000];   /* what the child wrote to stderr: its end */
} verdict;

/* Zeroed memory that children have in common with this process. */
void *share_memory(size_t bytes);

/* As fork(); the child is killed when this process ends. */
pid_t fork_tied(void);

verdict watch(const task *it);

/* Processor time of all children so far. */
int64_t watched_cpu_ns(void);

#endif
