/* invariant.h — checks of contracts and invariants, and warnings.
 *
 * odi_trap       a caller broke a documented contract: one sentence on stderr, then abort.
 * odi_invariant  the engine broke its own invariant: checked in debug and test builds.
 */
#ifndef ODI_BASE_INVARIANT_H
#define ODI_BASE_INVARIANT_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Prints "overdrive: <sentence>" on stderr in one write and aborts. The sentence names the function and the
 * promise that its caller broke. printf-style. Never returns. */
_Noreturn void odi_trap(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Writes "overdrive: <sentence>" to stderr in one write, or passes the sentence to odi_warn_to's function.
 * printf-style. */
void odi_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* odi_warn for a pool or closures that can make no progress; the recorder writes afterwards. */
void odi_warn_of_hang(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Writes "overdrive: <sentence>" to stderr, whatever odi_warn_to says. A signal handler may call it. printf-style. */
void odi_tell(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Calls `record` after each trap's and hang's sentence is printed. `fatal`: the process ends afterwards. */
void odi_recordings_to(void (*record)(const char *sentence, bool fatal));

/* Calls that function, if there is one. */
void odi_write_recording(const char *sentence, bool fatal);

/* Sends later warnings to `take`; NULL sends them to stderr again. */
void odi_warn_to(void (*take)(const char *sentence));

#pragma GCC visibility pop

#ifdef ODI_MODEL
#include "model/check.h"
#define odi_invariant(condition) model_invariant((condition), #condition, __FILE__, __LINE__)
#elif defined(ODI_CHECKED) || !defined(NDEBUG)
#define odi_invariant(condition)                                                          \
    ((condition) ? (void)0                                                                \
                 : odi_trap("internal invariant broken at %s:%d: %s", __FILE__, __LINE__, \
                            #condition))
#else
#define odi_invariant(condition) ((void)0)
#endif

#endif
