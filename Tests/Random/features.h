/* features.h — what a program did: each pair of these is to meet in one program, many times. */
#ifndef RANDOM_FEATURES_H
#define RANDOM_FEATURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* NAME, its word, and a family of which a program has one alone (0: none). */
#define RANDOM_FEATURES(X)                                                                \
    X(SERIAL_QUEUE, "serial", 0)                                                          \
    X(CONCURRENT_QUEUE, "concurrent", 0)                                                  \
    X(LIMITED_QUEUE, "limited", 0)                                                        \
    X(ON_TARGET, "target", 0)                                                             \
    X(ON_TWO_TARGETS, "target's target", 0)                                               \
    X(BARRIER, "barrier", 0)                                                              \
    X(SYNC_BY_JOB, "sync by job", 0)                                                      \
    X(SYNC_BY_OUTSIDER, "sync by outsider", 0)                                            \
    X(SYNC_IN_TREE, "sync from target", 0)                                                \
    X(BARRIER_SYNC, "barrier sync", 0)                                                    \
    X(SUSPENSION, "suspend", 0)                                                           \
    X(INACTIVE_QUEUE, "inactive", 0)                                                      \
    X(CANCELLED_QUEUE, "cancel queue", 0)                                                 \
    X(ITEM, "item", 0)                                                                    \
    X(CANCELLED_ITEM, "cancel item", 0)                                                   \
    X(TRIED, "try", 0)                                                                    \
    X(BATCHED, "batch", 0)                                                                \
    X(OF_THE_POOL, "pool's job", 0)                                                       \
    X(IN_GROUP, "group", 0)                                                               \
    X(ENTERED_GROUP, "enter", 0)                                                          \
    X(GROUP_AWAITED_BY_JOB, "group wait by job", 0)                                       \
    X(GROUP_AWAITED_OUTSIDE, "group wait outside", 0)                                     \
    X(GROUP_NOTIFIED, "group notify", 0)                                                  \
    X(GROUP_REUSED, "group again", 0)                                                     \
    X(GROUP_OF_ITS_OWN, "own group", 0)                                                   \
    X(QUEUE_AWAITED, "queue wait", 0)                                                     \
    X(QUEUE_NOTIFIED, "queue notify", 0)                                                  \
    X(TIMED_WAIT, "timed wait", 0)                                                        \
    X(SEMAPHORE, "semaphore", 0)                                                          \
    X(HAND_SHAKEN, "handshake", 0)                                                        \
    X(OWN_TIMER, "timer", 0)                                                              \
    X(TIMER_MOVED, "timer elsewhere", 0)                                                  \
    X(TIMER_REPEATED, "timer again", 0)                                                   \
    X(TIMER_CANCELLED, "cancel timer", 0)                                                 \
    X(ROOM_WAITED, "pending waits", 0)                                                    \
    X(ROOM_RUNS, "pending runs", 0)                                                       \
    X(ROOM_REFUSED, "pending refused", 0)                                                 \
    X(RUN_ON_SUBMITTER, "on submitter", 0)                                                \
    X(SLEPT, "sleep", 0)                                                                  \
    X(BRANCHED, "branches", 0)                                                            \
    X(PROCESS_FORKED, "child", 0)                                                         \
    X(STOPPED, "stop", 0)                                                                 \
    X(STOPPED_IN_TIME, "stop by deadline", 0)                                             \
    X(WORKERS_1, "1 worker", 1)                                                           \
    X(WORKERS_2, "2 workers", 1)                                                          \
    X(WORKERS_3, "3 workers", 1)                                                          \
    X(WORKERS_4, "4 workers", 1)                                                          \
    X(SPARES_0, "0 spares", 2)                                                            \
    X(SPARES_2, "2 spares", 2)                                                            \
    X(SPARES_64, "64 spares", 2)                                                          \
    X(CPUS_1, "1 CPU", 3)                                                                 \
    X(CPUS_2, "2 CPUs", 3)

typedef enum feature {
#define RANDOM_FEATURE(name, word, family) name,
    RANDOM_FEATURES(RANDOM_FEATURE)
#undef RANDOM_FEATURE
    FEATURES
} feature;

_Static_assert(FEATURES <= 64, "a word has a bit for each");

/* It happens, in the program that runs. */
void feature_met(feature it);

/* Counts what the program did, and begins anew. */
void features_close(void);

/* How many pairs there are that could meet, how often the rarest did, and those that met fewer than
 * `least` times, on `file`. Returns how many these are. */
int features_report(unsigned least, FILE *file);

#endif
