/* od_registry.h — what a queue of the layer above has not finished: who is there, one after another.
 *
 * Objects are two bytes or more apart, and each is on a registry as often as it was added. Unless a
 * function says otherwise it may be called from any thread.
 */
#ifndef OD_REGISTRY_H
#define OD_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct odi_registry od_registry;

/* A forked child's registries are empty: the parent's objects are the parent's to finish. The child may
 * still give up a place that its parent was given. */

/* NULL when memory is short. */
od_registry *od_registry_create(void);

/* Nobody uses it any more. */
void od_registry_release(od_registry *registry);

/* Adds an object. Returns its place, by which it leaves; 0 when memory is short. */
uint64_t od_registry_add(od_registry *registry, void *object);

/* Gives a place up. Returns whether the registry may be empty now: see od_registry_is_empty. */
bool od_registry_remove(od_registry *registry, uint64_t place);

/* How many are there. Exact for those that come and go in order with the call. */
size_t od_registry_count(od_registry *registry);

/* Whether nobody is there, at one moment: where each brings the next before it goes, it is never so. */
bool od_registry_is_empty(od_registry *registry);

/* Calls `visit` with each object that is there all the time, and with none that is gone: it stays
 * until `visit` has returned. Not from `visit`: any of these functions. */
void od_registry_each(od_registry *registry, void (*visit)(void *context, void *object),
                      void *context);

OD_END_DECLS

#endif
