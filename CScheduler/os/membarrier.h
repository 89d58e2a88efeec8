/* membarrier.h — an asymmetric StoreLoad fence: free on the light side, a system call on the
 * heavy side.
 *
 * Between a light and a heavy fence of two threads one order holds: either what the light
 * side wrote before its fence is seen after the heavy fence, or what the heavy side wrote
 * before is seen after the light one. Two light fences promise each other nothing.
 * Where the kernel refuses membarrier(2), both sides become full fences (a run-time switch).
 */
#ifndef ODI_OS_MEMBARRIER_H
#define ODI_OS_MEMBARRIER_H

#include "base/atomic.h"
#include "base/cache_line.h"

#ifdef ODI_MODEL
#include "model/asymmetric_fence.h"
#else

#pragma GCC visibility push(hidden)

/* Set once, when the program is loaded; by tests too. */
extern bool odi_membarrier_refused;

/* Whether light fences are full ones, so that code that has none of its own must go round. */
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

/* A system call; the kernel lets one caller at a time through. Never on a hot path. */
void odi_fence_heavy_(void);
#define odi_fence_heavy(edge) odi_fence_heavy_()

#pragma GCC visibility pop

#endif /* ODI_MODEL */
#endif
