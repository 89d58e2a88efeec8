#include "os/affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t),
               "the kernel's mask is made of unsigned longs, ours of 64-bit words");

enum { WIDEST_KERNEL_BYTES = 1 << 20 };

/* Keeps what is representable of `words`. True when nothing was lost. */
static bool keep_representable(const unsigned long *words, size_t bytes, odi_cpu_mask *mask)
{
    size_t count = bytes / sizeof *words;
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        if (i < ODI_CPU_WORDS)
            mask->words[i] = words[i];
        else if (words[i] != 0)
            all = false;
    }
    return all;
}

int odi_affinity_read(odi_affinity_call call, void *context, odi_cpu_mask *mask)
{
    unsigned long first[ODI_CPU_WORDS];
    unsigned long *words = first;
    size_t bytes = sizeof first;
    long wrote;

    odi_cpu_mask_clear(mask);

    /* EINVAL means only "too narrow": we ask for no thread that could be gone. */
    while ((wrote = call(context, bytes, words)) == -EINVAL &&
           bytes < WIDEST_KERNEL_BYTES) {
        if (words != first)
            free(words);
        bytes *= 2;
        words = malloc(bytes);
        if (words == NULL)
            return ENOMEM;
    }

    int status = wrote < 0 ? (int)-wrote : 0;
    if (status == 0) {
        size_t valid = (size_t)wrote < bytes ? (size_t)wrote : bytes;

        if (!keep_representable(words, valid, mask))
            status = ERANGE;
    }
    if (words != first)
        free(words);
    return status;
}

/* The raw call says how much it wrote; the C library's wrapper hides that. */
static long ask_kernel(void *context, size_t bytes, unsigned long *words)
{
    pid_t whom = *(const pid_t *)context;
    long wrote = syscall(SYS_sched_getaffinity, whom, bytes, words);

    return wrote < 0 ? -(long)errno : wrote;
}

int odi_affinity_get(odi_affinity_of whom, odi_cpu_mask *mask)
{
    pid_t id = whom == ODI_AFFINITY_PROCESS ? getpid() : 0;

    return odi_affinity_read(ask_kernel, &id, mask);
}

int odi_affinity_set(const odi_cpu_mask *mask)
{
    /* A kernel with a narrower mask ignores the rest, one with a wider mask fills up. */
    long status = syscall(SYS_sched_setaffinity, 0, sizeof mask->words, mask->words);

    return status < 0 ? errno : 0;
}

int odi_affinity_here(int *cpu, int *node)
{
    unsigned cpu_now = 0, node_now = 0;
    int status = getcpu(&cpu_now, &node_now) != 0 ? errno : 0;

    if (cpu != NULL)
        *cpu = status == 0 ? (int)cpu_now : -1;
    if (node != NULL)
        *node = status == 0 ? (int)node_now : -1;
    return status;
}
