/* memory.c — see memory.h. */
#include "memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int nameless_file(const char *directory)
{
    enum { nameless = 020000000 | O_DIRECTORY /* O_TMPFILE */ };

    return (int)syscall(SYS_openat, AT_FDCWD, directory, O_WRONLY | O_CLOEXEC | nameless, 0666);
}

int grow_heap(int count, int piece)
{
    enum { most_pieces = 64 };
    void *volatile pieces[most_pieces]; /* volatile: the compiler may drop a malloc that is only freed */
    int made = 0;

    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 2 * piece);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    while (made < count && made < most_pieces && (pieces[made] = malloc((size_t)piece)) != NULL)
        made++;
    for (int index = 0; index < made; index++)
        free(pieces[index]);
    return made == count ? 0 : -1;
}
