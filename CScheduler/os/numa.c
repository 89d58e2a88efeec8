/* numa.c — memory policies of libnuma: binds address ranges to nodes and moves touched pages. Failures are
 * ignored, because placement is best effort. */
#include "os/numa.h"

#include <numa.h>
#include <numaif.h>
#include <unistd.h>

void odi_numa_bind(void *address, size_t bytes, int node)
{
    enum { WORD_BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[ODI_NODE_LIMIT / WORD_BITS] = {0};

    if (numa_available() < 0)
        return;
    nodes[node / WORD_BITS] = 1ul << node % WORD_BITS;
    /* The kernel expects the width as one more than the last bit that it reads. */
    (void)mbind(address, bytes, MPOL_PREFERRED, nodes, ODI_NODE_LIMIT + 1, 0);
}

void odi_numa_move(void *address, size_t bytes, int node)
{
    enum { MOST_PAGES = 64 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)address / page * page, end = (uintptr_t)address + bytes;
    void *pages[MOST_PAGES];
    int found[MOST_PAGES], wanted[MOST_PAGES];
    unsigned long count = 0, elsewhere = 0;

    if (numa_available() < 0)
        return;
    for (; at < end && count < MOST_PAGES; at += page)
        pages[count++] = (void *)at;
    /* The query is cheap; a move briefly stops every CPU of the machine. */
    if (move_pages(0, count, pages, NULL, found, 0) != 0)
        return;
    for (unsigned long i = 0; i < count; i++) {
        if (found[i] < 0 || found[i] == node) /* a negative value: not touched yet */
            continue;
        wanted[elsewhere] = node;
        pages[elsewhere++] = pages[i];
    }
    if (elsewhere > 0)
        (void)move_pages(0, elsewhere, pages, wanted, found, MPOL_MF_MOVE);
}
