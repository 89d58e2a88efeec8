/* od_section.h — for the thread sanitizer alone: critical sections of a lock that it cannot see.
 *
 * The layer above has locks that its language's library changes, which is not compiled for the sanitizer.
 * Only a build with it has these.
 */
#ifndef OD_SECTION_H
#define OD_SECTION_H

#include "od_decls.h"

OD_BEGIN_DECLS

/* The calling thread has the lock: it sees what the sections before have written. */
void od_section_begins(const void *lock);

/* It is about to give the lock up. */
void od_section_ends(const void *lock);

OD_END_DECLS

#endif
