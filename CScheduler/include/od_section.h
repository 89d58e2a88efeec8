/* od_section.h — annotations for ThreadSanitizer: critical sections of a lock that it cannot see.
 *
 * The Swift standard library implements some locks of the Swift layer, and is not compiled for the sanitizer.
 * Only a ThreadSanitizer build has these functions.
 */
#ifndef OD_SECTION_H
#define OD_SECTION_H

#include "od_decls.h"

OD_BEGIN_DECLS

/* Call after the lock is acquired: the calling thread sees the writes of earlier sections. */
void od_section_begins(const void *lock);

/* Call before the lock is released. */
void od_section_ends(const void *lock);

OD_END_DECLS

#endif
