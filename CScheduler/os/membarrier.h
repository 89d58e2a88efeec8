/* membarrier.h — an asymmetric StoreLoad fence: free on the light side, a system call on the heavy side.
 *
 * Between a light and a heavy fence of two threads one of two orders holds. Either the light side's earlier
 * writes are visible after the heavy fence, or the heavy side's earlier writes are visible after the light
 * fence. Two light fences order nothing between each other. If the kernel refuses membarrier(2), both sides
 * become full fences, by a run-time switch.
 */
#ifndef ODI_OS_MEMBARRIER_H
#define ODI_OS_MEMBARRIER_H

#include "base/atomic.h"
#include "base/cache_line.h"

#ifdef ODI_MODEL
#include "model/asymmetric_fence.h"
#else

#pragma GCC visibility push(hidden)

/* Set once when the program is loaded, and by tests. */
extern bool odi_membarrier_refused;

/* Whether light fences are full fences. Code without a full fence must then take another path. */
static inline bool odi_membarrier_is_refused(void)
{
    return odi_membarrier_refused;
}

ODI_HOT_INLINE void odi_fence_light_(void)
{
    odi_fence_compiler();
    if (ODI_UNLIKELY(odi_membarrier_refused))
        odi_fence_seqcst(none);
}
#define odi_fence_light(edge) odi_fence_light_()

/* A system call; the kernel serialises callers. Never on a hot path. */
void odi_fence_heavy_(void);
#define odi_fence_heavy(edge) odi_fence_heavy_()

#pragma GCC visibility pop

#endif /* ODI_MODEL */
#endif
