/* grace.h — the few calls of liburcu that the engine makes, and what sanitizers must be told.
 *
 * liburcu 0.13.2 is not instrumented and says nothing to ThreadSanitizer, so the edge
 * "read section ends -> grace period ends" (R2) is announced here.
 */
#ifndef ODI_RECLAIM_GRACE_H
#define ODI_RECLAIM_GRACE_H

#pragma GCC visibility push(hidden)

void odi_grace_join(void);
void odi_grace_leave(void);
void odi_grace_read_begin(void);
void odi_grace_read_end(void);

/* Returns when every read section open at the call has ended. Never inside one. */
void odi_grace_wait(void);

#pragma GCC visibility pop

#endif
