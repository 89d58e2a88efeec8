/* frozen_reader.h — a thread that stays in a read section, so that retired objects are kept. */
#ifndef SUPPORT_FROZEN_READER_H
#define SUPPORT_FROZEN_READER_H

#include <pthread.h>

#include "Support/clock.h"
#include "reclaim/reclaim.h"

typedef struct {
    pthread_t thread;
    gate door;
} frozen_reader;

static inline void *stay_in_a_read_section(void *door)
{
    odi_reader_join();
    odi_read_begin();
    gate_pass(door);
    odi_read_end();
    odi_reader_leave();
    return NULL;
}

/* Returns when the thread is inside the read section. */
static inline void freeze_a_reader(frozen_reader *it)
{
    it->door = (gate){0};
    pthread_create(&it->thread, NULL, stay_in_a_read_section, &it->door);
    assert_comes_true(atomic_load(&it->door.waiting) == 1);
}

static inline void thaw(frozen_reader *it)
{
    gate_open(&it->door);
    pthread_join(it->thread, NULL);
}

#endif
