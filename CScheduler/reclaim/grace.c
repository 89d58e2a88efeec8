/* grace.c — calls of liburcu's memb flavour, with the annotations that ThreadSanitizer needs. reclaim.c is
 * the only caller.
 *
 * The program may use this flavour too, and liburcu registers a thread once. This file therefore defines
 * liburcu's two functions weakly, in front of the library. They count the registrations of the thread, by the
 * program and by the engine, and call the library for the first and the last.
 */
#include "reclaim/grace.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <urcu/static/urcu-memb.h>
#include <urcu/urcu-memb.h>

#include "base/atomic.h"
#include "base/invariant.h"
#include "os/membarrier.h"

static char grace_edge; /* R2, visible to the sanitizer only */

/* ---- registrations ---- */

typedef void registration(void);

/* Weak, because a static program lacks it. There liburcu's own functions replace the two below. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static _Thread_local uint32_t registrations;

static registration *of_library(odi_atomic(registration *) *found, const char *name)
{
    registration *function = odi_load_relaxed(found); /* relaxed, both: each thread finds the same function */

    if (function == NULL) {
        function = dlsym != NULL ? (registration *)dlsym(RTLD_NEXT, name) : NULL;
        if (function == NULL)
            odi_trap("%s: liburcu-memb is not loaded behind Overdrive. Link Overdrive before liburcu-memb.", name);
        odi_store_relaxed(found, function);
    }
    return function;
}

__attribute__((weak, visibility("default"))) void urcu_memb_register_thread(void)
{
    static odi_atomic(registration *) function;

    if (registrations++ == 0)
        of_library(&function, __func__)();
}

__attribute__((weak, visibility("default"))) void urcu_memb_unregister_thread(void)
{
    static odi_atomic(registration *) function;

    if (registrations <= 1)
        of_library(&function, __func__)();
    registrations -= registrations > 0;
}

/* The program has registered the thread without the functions above, which other definitions replace. */
static _Thread_local bool was_registered;

void odi_grace_join(void)
{
    was_registered = registrations == 0 && URCU_TLS(urcu_memb_reader).registered;
    if (!was_registered)
        urcu_memb_register_thread();
}

void odi_grace_leave(void)
{
    if (!was_registered)
        urcu_memb_unregister_thread();
    was_registered = false;
}

/* ---- read sections ---- */

void odi_grace_read_begin(void)
{
    urcu_memb_read_lock();
}

void odi_grace_read_end(void)
{
    odi_tsan_release(&grace_edge);
    urcu_memb_read_unlock();
}

void odi_grace_wait(void)
{
    odi_fence_heavy(none); /* traps here, and not inside liburcu, if the kernel has begun to refuse barriers */
    urcu_memb_synchronize_rcu();
    odi_tsan_acquire(&grace_edge);
}
