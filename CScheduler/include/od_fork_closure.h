/* od_fork_closure.h — fork and join for Swift closures. */
#ifndef OD_FORK_CLOSURE_H
#define OD_FORK_CLOSURE_H

#include "od_fork.h"

OD_BEGIN_DECLS

#if defined(__has_attribute)
#if __has_attribute(swiftcall)
/* Entry points for Swift closures. A closure that does not escape is two words: the address of a function
 * with Swift's calling convention, and a context. The Swift side is in Doors.swift. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_closure(void *code, void *context)
{
    return od_fork_push((uint64_t)(uintptr_t)code, context);
}
__attribute__((swiftcall)) void od_join_closure(void *code, void *context);

/* Forks a closure that receives its branch number; its result has the type `type`. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_numbered_closure(void *code, void *context, uint32_t number, const void *type)
{
    (void)type;
    return od_fork_push_numbered((uint64_t)(uintptr_t)code, context, number);
}

void od_fork_give_up(void *captures);

/* Forks an escaping closure. The engine owns the captures until the join. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_owned(void *code, void *captures)
{
    od_fork_slot *slot = od_fork_push((uint64_t)(uintptr_t)code, captures);

    if (OD_FORK_RARE(OD_FORK_LOAD(&od_forks_self->head) == slot)) {
        od_fork_give_up(captures); /* no thief can exist, so the branch has already run */
        return NULL;
    }
    return slot;
}

/* Makes the compiler emit od_fork_closure in the calling module. Swift has named the symbol before, so clang
 * would otherwise treat it as defined elsewhere; `used` prevents this. */
static inline __attribute__((always_inline)) void od_fork_closure_here(void)
{
    (void)&od_fork_closure;
}
static inline __attribute__((always_inline)) void od_fork_numbered_closure_here(void)
{
    (void)&od_fork_numbered_closure;
}
static inline __attribute__((always_inline)) void od_fork_owned_here(void)
{
    (void)&od_fork_owned;
}

/* Runs the newest fork, or waits until its thief has run it, and releases its captures. */
void od_join_owned(void);
#endif
#endif

OD_END_DECLS
#endif
