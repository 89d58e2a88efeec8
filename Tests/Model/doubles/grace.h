/* grace.h — reclaim/grace.c for the model: a grace period from an asymmetric fence and one
 * word per reader, the way liburcu's memb flavour works.
 *
 * A wait needs every reader outside a section. Reading that from an old value of its word is
 * fine: the heavy fence then says that the section began after, and sees the unlinking.
 */
#include "reclaim/grace.h"

#include "base/atomic.h"
#include "model/scenario.h"
#include "os/membarrier.h"

static odi_atomic(uint32_t) grace_section[MODEL_ROWS]; /* odd inside a section */
static unsigned grace_readers;                         /* bit t: thread t reads */

void odi_grace_join(void) {}
void odi_grace_leave(void) {}

void odi_grace_read_begin(void)
{
    odi_atomic(uint32_t) *mine = &grace_section[model_thread()];

    odi_store_relaxed(mine, odi_load_relaxed(mine) + 1);
    odi_fence_light(none);
}

void odi_grace_read_end(void)
{
    odi_atomic(uint32_t) *mine = &grace_section[model_thread()];

    odi_store_release(mine, odi_load_relaxed(mine) + 1, none);
}

void odi_grace_wait(void)
{
    odi_fence_heavy(none);
    for (unsigned t = 0; t < MODEL_MAX_THREADS; t++)
        if (grace_readers >> t & 1)
            while (odi_load_acquire(&grace_section[t], none) % 2 != 0)
                odi_spin_pause();
    odi_fence_heavy(none);
}
