/* shared.h — what a child that runs programs tells its parent, in memory that both have. */
#ifndef RANDOM_SHARED_H
#define RANDOM_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "Random/features.h"
#include "Random/program.h"

typedef struct shared {
    atomic_ullong seed;     /* of the program that runs */
    atomic_ullong programs, closures;
    atomic_uint still;      /* programs that stood still as they may, and said so */
    atomic_ullong progress; /* grows with whatever happens */
    atomic_int waiting;     /* jobs that wait, of the program that runs */
    atomic_int failed;      /* the message is there */
    char message[1024];
    atomic_uint met[FEATURES][FEATURES]; /* programs in which both did happen */
} shared;

extern shared *random_shared;

static inline void progress(void)
{
    atomic_fetch_add_explicit(&random_shared->progress, 1, memory_order_relaxed);
}

/* Says what is wrong, once, and ends the child. */
_Noreturn void oracle_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum { EXIT_FINDING = 70 };

#define oracle_expects(condition, ...) ((condition) ? (void)0 : oracle_fails(__VA_ARGS__))

#endif
