/* membarrier.c — registers the process for membarrier(2), and executes the heavy side of the asymmetric
 * fence. */
#include "os/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/invariant.h"

bool odi_membarrier_refused;

static bool call(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Registers the process with the kernel before other constructors can start threads. Locks use fences before
 * the first pool exists, and a later registration would wait for an RCU grace period. */
__attribute__((constructor(101))) static void prepare(void)
{
    odi_membarrier_refused = !call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void odi_fence_heavy_(void)
{
    odi_fence_seqcst(none);
    if (ODI_LIKELY(!odi_membarrier_refused) && !call(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        odi_trap("membarrier(2): the kernel refused a registered barrier. Start the process under a filter "
                 "that allows or denies membarrier(2) throughout.");
    odi_fence_seqcst(none);
}
