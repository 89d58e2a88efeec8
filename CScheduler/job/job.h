/* job.h — the two words of a job: its function, its context and its record.
 *
 *     code     plain:1 | far:1 | tag:14 | function:48
 *     context  the function's argument, or a Swift closure's captures; with a far tag
 *              the tag's upper bits:16 | argument:48
 *
 * A job is a plain C function (called with its context as argument) or a Swift closure. A closure is called
 * with its context in the context register and released afterwards. The job holds the closure's reference, so
 * queueing a closure allocates nothing.
 *
 * The tag names the record (completion counter) on which the job is counted; tag 0 means none. Small tags fit
 * into the code word. Larger tags also use the upper bits of the context, which are zero in an address. A
 * context with nonzero upper bits takes only small tags.
 *
 * Both convention attributes belong to clang. Another compiler builds an engine for C programs, without
 * closures.
 */
#ifndef ODI_JOB_JOB_H
#define ODI_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cache_line.h"
#include "queue/entry.h"

#pragma GCC visibility push(hidden)

#if defined(__has_attribute)
#if __has_attribute(swiftcall)
#define ODI_SWIFT_CLOSURES 1
#endif
#endif

typedef void odi_function(void *context);

#define ODI_JOB_PLAIN (UINT64_C(1) << 63)
#define ODI_JOB_TAG_SHIFT 48
#define ODI_JOB_NEAR_BITS 14
#define ODI_JOB_NEAR_TAGS (1u << ODI_JOB_NEAR_BITS)
#define ODI_JOB_FAR ODI_JOB_NEAR_TAGS /* set in the tag field of the code word */
#define ODI_JOB_CODE_MASK ((UINT64_C(1) << ODI_JOB_TAG_SHIFT) - 1)

static inline odi_entry odi_job_plain(odi_function *function, void *context, uint32_t tag)
{
    return (odi_entry){ODI_JOB_PLAIN | (uint64_t)tag << ODI_JOB_TAG_SHIFT |
                           (uint64_t)(uintptr_t)function,
                       (uint64_t)(uintptr_t)context};
}

static inline odi_entry odi_job_closure(void *code, void *captures, uint32_t tag)
{
    return (odi_entry){(uint64_t)tag << ODI_JOB_TAG_SHIFT | (uint64_t)(uintptr_t)code,
                       (uint64_t)(uintptr_t)captures};
}

static inline uint32_t odi_job_tag(odi_entry job)
{
    uint32_t tag = (uint32_t)(job.code >> ODI_JOB_TAG_SHIFT) & (ODI_JOB_FAR | (ODI_JOB_NEAR_TAGS - 1));

    if (ODI_LIKELY(!(tag & ODI_JOB_FAR)))
        return tag;
    return (tag - ODI_JOB_FAR) | (uint32_t)(job.context >> ODI_JOB_TAG_SHIFT) << ODI_JOB_NEAR_BITS;
}

static inline bool odi_job_takes_tag(odi_entry job, uint32_t tag)
{
    return tag < ODI_JOB_NEAR_TAGS || job.context <= ODI_JOB_CODE_MASK;
}

/* Returns the job with the tag. */
static inline odi_entry odi_job_with_tag(odi_entry job, uint32_t tag)
{
    uint64_t far = (uint64_t)ODI_JOB_FAR << ODI_JOB_TAG_SHIFT, near = tag & (ODI_JOB_NEAR_TAGS - 1);

    if (ODI_UNLIKELY((job.code & far) != 0))
        job.context &= ODI_JOB_CODE_MASK;
    job.code = (job.code & (ODI_JOB_PLAIN | ODI_JOB_CODE_MASK)) | near << ODI_JOB_TAG_SHIFT;
    if (ODI_UNLIKELY(tag >= ODI_JOB_NEAR_TAGS)) {
        job.code |= far;
        job.context |= (uint64_t)(tag >> ODI_JOB_NEAR_BITS) << ODI_JOB_TAG_SHIFT;
    }
    return job;
}

/* A job of an object that needs to know when its job has run or was discarded: a closure in C. */
typedef struct odi_owned odi_owned;
typedef struct {
    void (*call)(odi_owned *owned);
    void (*done)(odi_owned *owned); /* called once, after the call or instead of it: the last use */
} odi_owned_kind;
struct odi_owned {
    const odi_owned_kind *kind;
};

/* The function of all owned jobs. Each object file that uses it defines it weakly, and the linker keeps one
 * copy. A weak definition in one archive member only would not be linked: the first timer's call would go to
 * address 0. */
__attribute__((weak)) void odi_job_call_owned(void *raw)
{
    odi_owned *owned = raw;

    owned->kind->call(owned);
}

static inline odi_entry odi_job_owned(odi_owned *owned)
{
    return odi_job_plain(odi_job_call_owned, owned, 0);
}

static inline bool odi_job_calls(odi_entry job, odi_function *function)
{
    return job.code & ODI_JOB_PLAIN && function != NULL && /* NULL: the program has no Swift layer */
           (job.code & ODI_JOB_CODE_MASK) == (uint64_t)(uintptr_t)function;
}

static inline bool odi_job_is_owned(odi_entry job)
{
    return odi_job_calls(job, odi_job_call_owned);
}

#ifdef ODI_SWIFT_CLOSURES
/* The Swift runtime's function; absent from programs in C alone. */
extern void swift_release(void *object) __attribute__((weak, visibility("default")));
typedef __attribute__((swiftcall)) void odi_closure(
    __attribute__((swift_context)) void *captures);
#endif

/* Tasks of the Swift layer, if present. A plain job whose function is od_task_run owns its context, and
 * od_task_discard is called if the job will never run. Executor jobs work in the same manner with
 * od_executor_run and od_executor_discard. */
extern void od_task_run(void *task) __attribute__((weak));
extern void od_task_discard(void *task) __attribute__((weak));
extern void od_executor_run(void *job) __attribute__((weak));
extern void od_executor_discard(void *job) __attribute__((weak));

/* Releases a job's captures, or notifies its object, after it has run or instead. */
static inline void odi_job_release(odi_entry job)
{
    if (odi_job_is_owned(job)) {
        odi_owned *owned = (odi_owned *)(uintptr_t)job.context;

        owned->kind->done(owned);
    }
#ifdef ODI_SWIFT_CLOSURES
    else if (!(job.code & ODI_JOB_PLAIN) && job.context != 0)
        swift_release((void *)(uintptr_t)job.context);
#endif
}

/* Discards a job that will never run. */
static inline void odi_job_discard(odi_entry job)
{
    if (odi_job_calls(job, od_task_run))
        od_task_discard((void *)(uintptr_t)job.context);
    else if (odi_job_calls(job, od_executor_run))
        od_executor_discard((void *)(uintptr_t)job.context);
    else
        odi_job_release(job);
}

/* Calls a job's function on the calling thread without releasing its captures. */
static inline void odi_job_call(odi_entry job)
{
    uintptr_t code = (uintptr_t)(job.code & ODI_JOB_CODE_MASK);
    void *context = (void *)(uintptr_t)job.context;

#ifdef ODI_SWIFT_CLOSURES
    if (!(job.code & ODI_JOB_PLAIN)) {
        ((odi_closure *)code)(context);
        return;
    }
#endif
    ((odi_function *)code)(context);
}

/* Returns a hash of an unlabelled job's two words, never 0. Pending closures differ in it, except closures with equal
 * code and captures. */
static inline uint64_t odi_job_identity(odi_entry job)
{
    uint64_t code = job.code & ODI_JOB_CODE_MASK;

    return ((job.context ^ code << 16) * UINT64_C(0x9e3779b97f4a7c15) ^ code) | 1;
}

/* Runs a job on the calling thread and releases its captures. */
static inline void odi_job_run(odi_entry job)
{
    odi_job_call(job);
    odi_job_release(job);
}

#pragma GCC visibility pop

#endif
