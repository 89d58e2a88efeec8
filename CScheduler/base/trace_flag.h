/* trace_flag.h — the word that every trace point tests. observe/trace.c and os/control.c write it; it orders nothing. */
#ifndef ODI_BASE_TRACE_FLAG_H
#define ODI_BASE_TRACE_FLAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/cache_line.h"

#pragma GCC visibility push(hidden)

enum {
    ODI_WANTS_TRACE = 1,  /* a trace is being written */
    ODI_WANTS_CONTROL = 2 /* a controlled run is in progress: os/control.h */
};

extern odi_atomic(uint8_t) odi_trace_wanted;

#ifdef ODI_MODEL
#define odi_traces() false /* the ring has a scenario of its own */
#else
/* Whether either is wanted. */
ODI_HOT_INLINE bool odi_traces(void)
{
#if defined(__x86_64__) && !defined(ODI_TSAN)
    /* Two instructions; the compiler's own atomic load takes a third one. */
    __asm__ goto("cmpb $0, %0\n\tjne %l1" : : "m"(odi_trace_wanted) : "cc" : wanted);
    return false;
    /* cppcheck-suppress unusedLabelConfiguration ; the assembler names it */
wanted:
    return true;
#else
    return ODI_UNLIKELY(odi_load_relaxed(&odi_trace_wanted) != 0); /* relaxed: a hint; the ring orders its words itself */
#endif
}
#endif

#pragma GCC visibility pop

#endif
