/* section.c — ThreadSanitizer annotations for locks of the Swift layer; empty in other builds. */
#include "include/od_section.h"

#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>

void od_section_begins(const void *lock)
{
    __tsan_acquire((void *)(uintptr_t)lock);
}

void od_section_ends(const void *lock)
{
    __tsan_release((void *)(uintptr_t)lock);
}
#endif
#endif
