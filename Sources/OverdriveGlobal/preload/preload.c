/* preload.c — what LD_PRELOAD names: it brings Overdrive to programs that have Swift's concurrency
 * runtime, and leaves every other one as it was.
 *
 * It needs nothing but libc, because it is loaded into whatever the program starts: a shell, git,
 * /bin/true. The Swift part, liboverdrive-global.so, stands beside it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SWIFT_PART "liboverdrive-global.so"
#define ENGINE "Overdrive" /* the owner of the note in CScheduler/os/mark.c */

/* One line in one write; who cannot be told goes on all the same. */
static void say(const char *sentence, const char *detail)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "overdrive: %s%s%s\n", sentence,
                          detail != NULL ? ": " : "", detail != NULL ? detail : "");

    if (length >= (int)sizeof line)
        length = (int)sizeof line - 1;
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* Whether the notes name the engine. */
static bool names_engine(const char *notes, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;

        memcpy(&head, notes, sizeof head);
        size_t whole = sizeof head + padded(head.n_namesz) + padded(head.n_descsz);
        if (whole > bytes)
            return false;
        if (head.n_namesz == sizeof ENGINE && memcmp(notes + sizeof head, ENGINE, sizeof ENGINE) == 0)
            return true;
        notes += whole;
        bytes -= whole;
    }
    return false;
}

static int carries_engine(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_NOTE &&
            names_engine((const char *)(object->dlpi_addr + part->p_vaddr), part->p_memsz))
            return 1;
    }
    return 0;
}

/* The Swift part's path, beside this library. False: nobody knows where that is. */
static bool find_swift_part(char *path, size_t capacity)
{
    Dl_info here;
    const char *slash;

    if (dladdr((void *)find_swift_part, &here) == 0 ||
        (slash = strrchr(here.dli_fname, '/')) == NULL)
        return false;
    int length = snprintf(path, capacity, "%.*s/" SWIFT_PART, (int)(slash - here.dli_fname),
                          here.dli_fname);
    return length > 0 && (size_t)length < capacity;
}

__attribute__((constructor)) static void bring_overdrive(void)
{
    char path[4096];

    if (dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal") == NULL)
        return; /* no Swift runtime in reach */
    if (dl_iterate_phdr(carries_engine, NULL) != 0) {
        say("the program carries Overdrive itself, so the preloaded one steps back; call "
            "GlobalExecutor.install() in its source", NULL);
        return;
    }
    if (dlsym(RTLD_DEFAULT, "swift_createExecutors") == NULL) {
        say("the program's Swift runtime lets nobody replace its executor (6.3 does), so its tasks "
            "run where they ran before", NULL);
        return;
    }
    if (!find_swift_part(path, sizeof path)) {
        say("preloaded without a path, so " SWIFT_PART " cannot be found beside it", NULL);
        return;
    }
    void *part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool (*install)(void) = part != NULL ? (bool (*)(void))dlsym(part, "overdrive_global_install")
                                         : NULL;
    if (install == NULL)
        say("the program's tasks run where they ran before", dlerror());
    else
        (void)install(); /* it says itself why not */
}
