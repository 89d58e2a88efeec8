/* od_fork_closure.h — forks of Swift's closures. */
#ifndef OD_FORK_CLOSURE_H
#define OD_FORK_CLOSURE_H

#include "od_fork.h"

OD_BEGIN_DECLS

#if defined(__has_attribute)
#if __has_attribute(swiftcall)
/* The doors for Swift closures: a closure that does not escape is two words, the address of
 * a function in Swift's convention and a context. See Doors.swift for the other side. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_closure(void *code, void *context)
{
    return od_fork_push((uint64_t)(uintptr_t)code, context);
}
__attribute__((swiftcall)) void od_join_closure(void *code, void *context);

/* The same for a closure that is told its branch's number, and whose result has the type `type`. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_numbered_closure(void *code, void *context, uint32_t number, const void *type)
{
    (void)type;
    return od_fork_push_numbered((uint64_t)(uintptr_t)code, context, number);
}

void od_fork_give_up(void *captures);

/* The same for a closure that escapes: its captures are the engine's until the join. */
static inline __attribute__((swiftcall, always_inline, used)) od_fork_slot *
od_fork_owned(void *code, void *captures)
{
    od_fork_slot *slot = od_fork_push((uint64_t)(uintptr_t)code, captures);

    if (OD_FORK_RARE(OD_FORK_LOAD(&od_forks_self->head) == slot)) {
        od_fork_give_up(captures); /* there was nobody to offer it to: it has run */
        return NULL;
    }
    return slot;
}

/* Has the compiler emit od_fork_closure wherever this is called. (`used`: because Swift has
 * named the symbol before, clang would take it for somebody else's.) */
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

/* Runs what the newest fork offered, or waits until its thief has, and releases its captures. */
void od_join_owned(void);
#endif
#endif

OD_END_DECLS
#endif
