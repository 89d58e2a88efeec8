/* asymmetric_fence.h — os/membarrier.h for the model checker.
 *
 * A light fence is ordered against heavy ones and nothing else; see README.md, "Fences".
 * Weakened by one step, a light fence is nothing and a heavy one a plain seq_cst fence.
 */
#ifndef MODEL_ASYMMETRIC_FENCE_H
#define MODEL_ASYMMETRIC_FENCE_H

#include <stdbool.h>

#define odi_fence_light(edge) MODEL_FENCE("fence_light", edge, MODEL_LIGHT, MODEL_NO_FENCE)
#define odi_fence_heavy(edge) MODEL_FENCE("fence_heavy", edge, MODEL_HEAVY, MODEL_SEQCST)

static inline bool odi_membarrier_is_refused(void)
{
    return false;
}

#endif
