/* Prints which functions of the engine run between od_queue_async and its closure on a warm serial queue. The engine is
 * compiled with -O0 -finstrument-functions; Tests/House/closure-path builds and calls this program. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "od_pool.h"
#include "od_queue.h"

#define PLAIN __attribute__((no_instrument_function))

enum { MOST = 1 << 16, ROUNDS = 32, WARM = 200 };
static void *entered[MOST];
static atomic_size_t count;
static atomic_bool recording, done;

PLAIN void __cyg_profile_func_enter(void *function, void *caller);
PLAIN void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if (!atomic_load(&recording)) return;
    size_t at = atomic_fetch_add(&count, 1);
    if (at < MOST) entered[at] = function;
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    (void)caller;
}

PLAIN static void closure(void *context) {
    (void)context;
    atomic_store(&recording, false);
    atomic_store(&done, true);
}

PLAIN int main(void) {
    char message[256];
    od_pool_options options;
    od_pool_options_init(&options);
    options.workers = 1;
    od_pool *pool;
    if (od_pool_create(&options, &pool, message, sizeof message) != OD_OK) {
        fprintf(stderr, "closure-path: %s\n", message);
        return 1;
    }
    od_queue *queue = od_queue_create(pool, OD_BAND_DEFAULT, 1, "path");
    for (int round = 0; round < WARM + ROUNDS; round++) {
        struct timespec rest = {.tv_nsec = 2000000};
        nanosleep(&rest, NULL); /* the worker sleeps */
        atomic_store(&count, 0);
        atomic_store(&done, false);
        atomic_store(&recording, round >= WARM);
        if (od_queue_async(queue, NULL, -1, closure, NULL) != OD_OK) return 1;
        while (!atomic_load(&done)) {}
        if (round < WARM) continue;
        size_t calls = atomic_load(&count);
        for (size_t i = 0; i < calls && i < MOST; i++) printf("%d %p\n", round, entered[i]);
    }
    od_queue_release(queue);
    od_pool_stop(pool, 0, NULL);
    od_pool_free(pool);
    return 0;
}
