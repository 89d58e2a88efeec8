/* refused.h — for scenarios over worker/forks.c, before all else: a kernel that refuses membarrier (os/membarrier.h).
 * Both sides of the asymmetric fence are full ones then, but for those of the inline fork and join, which have none
 * and go round. */
#include "model/scenario.h"
#include "os/membarrier.h"

#undef odi_fence_light
#define odi_fence_light(edge) ((void)0)
#include "worker/forks.h"

#undef odi_fence_light
#undef odi_fence_heavy
#define odi_fence_light(edge) MODEL_FENCE("fence", edge, MODEL_SEQCST, MODEL_NO_FENCE)
#define odi_fence_heavy(edge) odi_fence_light(edge)
#define odi_membarrier_is_refused() true
