#include "os/numa.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <unistd.h>

enum { WORD_BITS = 8 * sizeof(unsigned long), NODE_WORDS = ODI_NODE_LIMIT / WORD_BITS };

typedef struct node_set {
    unsigned long words[NODE_WORDS];
} node_set;

static bool is_node(int node)
{
    return node >= 0 && node < ODI_NODE_LIMIT;
}

static node_set only(int node)
{
    node_set set = {{0}};
    set.words[node / WORD_BITS] = 1ul << (node % WORD_BITS);
    return set;
}

bool odi_numa_available(void)
{
    return numa_available() >= 0;
}

int odi_numa_bind(void *address, size_t bytes, int node)
{
    if (!is_node(node))
        return EINVAL;
    if (!odi_numa_available())
        return ENOSYS;

    node_set set = only(node);

    /* The kernel takes the width as one more than the last bit that it looks at. */
    return mbind(address, bytes, MPOL_PREFERRED, set.words, ODI_NODE_LIMIT + 1, 0) != 0 ? errno : 0;
}

int odi_numa_move(void *address, size_t bytes, int node)
{
    enum { MOST_PAGES = 64 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)address / page * page, end = (uintptr_t)address + bytes;
    void *pages[MOST_PAGES];
    int found[MOST_PAGES], wanted[MOST_PAGES];
    unsigned long count = 0, elsewhere = 0;

    if (!is_node(node))
        return EINVAL;
    if (!odi_numa_available())
        return ENOSYS;
    for (; at < end && count < MOST_PAGES; at += page)
        pages[count++] = (void *)at;
    /* Asking is cheap; moving makes every CPU of the machine stop for a moment. */
    if (move_pages(0, count, pages, NULL, found, 0) != 0)
        return errno;
    for (unsigned long i = 0; i < count; i++) {
        if (found[i] >= 0 && found[i] != node) /* negative: not touched yet */
            pages[elsewhere++] = pages[i];
    }
    for (unsigned long i = 0; i < elsewhere; i++)
        wanted[i] = node;
    return elsewhere > 0 && move_pages(0, elsewhere, pages, wanted, found, MPOL_MF_MOVE) < 0
               ? errno
               : 0;
}
