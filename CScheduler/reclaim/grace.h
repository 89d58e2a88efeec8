/* grace.h — the engine's calls of liburcu, with annotations for sanitizers. Only reclaim.c calls it.
 *
 * liburcu 0.13.2 is not instrumented for ThreadSanitizer. This file therefore announces the edge "read
 * section ends -> grace period ends" (R2).
 */
#ifndef ODI_RECLAIM_GRACE_H
#define ODI_RECLAIM_GRACE_H

#pragma GCC visibility push(hidden)

void odi_grace_join(void);
void odi_grace_leave(void);
void odi_grace_read_begin(void);
void odi_grace_read_end(void);

/* Returns after every read section that was open at the call has ended. Never call it inside a read section. */
void odi_grace_wait(void);

#pragma GCC visibility pop

#endif
