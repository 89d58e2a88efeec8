/* audit.c — preloaded beside Overdrive: counts the jobs that Swift's runtime gives to libdispatch all the
 * same, those for the main queue apart, and says at the end how many jobs Overdrive ran. See
 * scripts/run-preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char _dispatch_main_q[] __attribute__((weak));

static atomic_ulong to_workers, to_main;

static void count(void *queue, void *caller)
{
    Dl_info from;

    if (dladdr(caller, &from) == 0 || strstr(from.dli_fname, "libswift_Concurrency") == NULL)
        return;
    atomic_fetch_add_explicit(queue == (void *)_dispatch_main_q ? &to_main : &to_workers, 1,
                              memory_order_relaxed);
}

void dispatch_async_f(void *queue, void *context, void (*work)(void *))
{
    void (*real)(void *, void *, void (*)(void *)) =
        (void (*)(void *, void *, void (*)(void *)))dlsym(RTLD_NEXT, "dispatch_async_f");

    count(queue, __builtin_return_address(0));
    real(queue, context, work);
}

void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *))
{
    void (*real)(uint64_t, void *, void *, void (*)(void *)) =
        (void (*)(uint64_t, void *, void *, void (*)(void *)))dlsym(RTLD_NEXT, "dispatch_after_f");

    count(queue, __builtin_return_address(0));
    real(when, queue, context, work);
}

__attribute__((destructor)) static void report(void)
{
    const char *file = getenv("OVERDRIVE_AUDIT"), *part = getenv("OVERDRIVE_AUDIT_PART");
    void *library = part != NULL ? dlopen(part, RTLD_NOW | RTLD_NOLOAD) : NULL;
    uint64_t (*executed)(void) =
        library != NULL ? (uint64_t(*)(void))dlsym(library, "overdrive_global_executed") : NULL;
    FILE *log = file != NULL && dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal") != NULL ? fopen(file, "a") : NULL;

    if (log == NULL)
        return;
    fprintf(log, "overdrive %llu dispatch-workers %lu dispatch-main %lu\n",
            executed != NULL ? (unsigned long long)executed() : 0, atomic_load(&to_workers),
            atomic_load(&to_main));
    fclose(log);
}
