/* affinity.c — parses lists of CPUs, and reads and sets the affinity of threads by system calls. */
#include "os/affinity.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool take_number(const char **text, unsigned long *number)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    *number = strtoul(*text, &end, 10); /* a number that is too large becomes the largest */
    *text = end;
    return true;
}

static bool take_range(const char **text, odi_cpu_mask *mask)
{
    unsigned long first, last;

    if (!take_number(text, &first))
        return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (!take_number(text, &last) || last < first)
            return false;
    }
    for (; first <= last && first < ODI_CPU_LIMIT; first++)
        odi_cpu_mask_add(mask, (int)first);
    return true;
}

bool odi_cpu_mask_parse(const char *text, odi_cpu_mask *mask)
{
    static const char blanks[] = " \t\n";
    bool valid = true;

    odi_cpu_mask_clear(mask);
    text += strspn(text, blanks);
    if (*text == '\0')
        return true;
    for (bool more = true; valid && more;) {
        valid = take_range(&text, mask);
        more = *text == ',';
        text += more;
    }
    valid = valid && text[strspn(text, blanks)] == '\0';
    if (!valid)
        odi_cpu_mask_clear(mask);
    return valid;
}

int odi_affinity_get(int thread, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    return syscall(SYS_sched_getaffinity, thread, sizeof mask->words, mask->words) == -1 ? errno : 0;
}

int odi_affinity_set(const odi_cpu_mask *mask)
{
    /* A kernel with a narrower mask ignores the rest; a kernel with a wider mask adds zeros. */
    return syscall(SYS_sched_setaffinity, 0, sizeof mask->words, mask->words) == -1 ? errno : 0;
}

int odi_affinity_node(void)
{
    unsigned node;

    return getcpu(NULL, &node) == 0 ? (int)node : -1;
}
