/* od_roster.h — what a queue of the layer above has not finished: who is there, one after another.
 *
 * Objects are two bytes or more apart, and each is on a roster as often as it was added. Unless a
 * function says otherwise it may be called from any thread.
 */
#ifndef OD_ROSTER_H
#define OD_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct odi_roster od_roster;

/* NULL when memory is short. */
od_roster *od_roster_create(void);

/* Nobody uses it any more. */
void od_roster_release(od_roster *roster);

/* Adds an object. Returns its place, by which it leaves; 0 when memory is short. */
uint64_t od_roster_add(od_roster *roster, void *object);

/* Gives a place up. Returns whether the roster may be empty now: see od_roster_is_empty. */
bool od_roster_remove(od_roster *roster, uint64_t place);

/* How many are there. Exact for those that come and go in order with the call. */
size_t od_roster_count(od_roster *roster);

/* Whether nobody is there, at one moment: where each brings the next before it goes, it is never so. */
bool od_roster_is_empty(od_roster *roster);

/* Calls `visit` with each object that is there all the time, and with none that is gone: it stays
 * until `visit` has returned. Not from `visit`: any of these functions. */
void od_roster_each(od_roster *roster, void (*visit)(void *context, void *object),
                    void *context);

#ifdef __cplusplus
}
#endif

#endif
