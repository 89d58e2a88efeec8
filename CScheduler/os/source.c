/* source.c — reads the files of a machine, live or below a directory, and Slurm's variables. Files are closed
 * before each return. */
#include "os/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/process.h"

static FILE *open_file(const odi_source *source, const char *path)
{
    char whole[ODI_PATH_LIMIT];

    if (snprintf(whole, sizeof whole, "%s%s", source->root, path) >= ODI_PATH_LIMIT) {
        errno = ENOENT; /* a path that cannot exist */
        return NULL;
    }
    /* O_NONBLOCK: a foreign tree may hold a pipe without a writer. */
    int number = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE *file = number >= 0 ? fdopen(number, "r") : NULL;

    if (number >= 0 && file == NULL)
        close(number);
    return file;
}

int odi_source_read(const odi_source *source, const char *path, char *text, size_t capacity)
{
    FILE *file = source->open(source, path);
    int status = 0;

    text[0] = '\0';
    if (file == NULL)
        return errno;
    (void)setvbuf(file, NULL, _IONBF, 0); /* unbuffered: read directly into `text` */
    size_t length = fread(text, 1, capacity, file);
    if (ferror(file))
        status = EIO;
    else if (length == capacity)
        status = EFBIG;
    text[length < capacity ? length : capacity - 1] = '\0';
    fclose(file);
    return status;
}

int odi_source_read_list(const odi_source *source, const char *path, odi_cpu_mask *mask)
{
    enum { PAGE = 4096 }; /* the longest list that the kernel shows */
    char text[PAGE];
    int status = odi_source_read(source, path, text, sizeof text);

    odi_cpu_mask_clear(mask);
    if (status == 0 && !odi_cpu_mask_parse(text, mask))
        status = EINVAL;
    return status;
}

static int ask_affinity(const odi_source *source, odi_cpu_mask *mask)
{
    (void)source;
    /* The main thread may pin itself, and placed workers are pinned. A thread of the engine that was never
     * placed has the process's mask, which the kernel keeps within the cpuset. */
    return odi_affinity_get(odi_process_mask_is_own() ? 0 : getpid(), mask);
}

/* Slurm binds a job to its CPUs only if the site is configured for it, but always states their number. */
static int granted_by_slurm(void)
{
    static const char *const names[] = {"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"};

    if (secure_getenv("SLURM_JOB_ID") == NULL)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = secure_getenv(names[i]);
        char *end;

        if (text == NULL || *text < '0' || *text > '9')
            continue;
        long count = strtol(text, &end, 10);
        if (*end == '\0' && count >= 1 && count <= INT_MAX)
            return (int)count;
    }
    return 0;
}

odi_source odi_source_live(void)
{
    return (odi_source){.open = open_file, .affinity = ask_affinity, .granted = granted_by_slurm(),
                        .root = "", .live = true};
}

odi_source odi_source_at(const char *root)
{
    return (odi_source){.open = open_file, .root = root};
}
