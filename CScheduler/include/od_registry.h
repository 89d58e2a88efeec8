/* od_registry.h — a registry of live objects, such as the operations that a queue of the Swift layer has not
 * finished.
 *
 * Objects are at least two bytes apart. An object may be added several times. Unless a comment states
 * otherwise, a function may be called from any thread.
 */
#ifndef OD_REGISTRY_H
#define OD_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_decls.h"

OD_BEGIN_DECLS

typedef struct odi_registry od_registry;

/* The registries of a forked child are empty, because the parent finishes its own objects. The child may
 * still remove an entry that the parent received. */

/* NULL if out of memory. */
od_registry *od_registry_create(void);

/* Frees the registry; no other thread may use it. */
void od_registry_release(od_registry *registry);

/* Adds an object. Returns the entry's handle for od_registry_remove, or 0 if an allocation fails. */
uint64_t od_registry_add(od_registry *registry, void *object);

/* Removes an entry. Returns whether the registry may be empty now: see od_registry_is_empty. */
bool od_registry_remove(od_registry *registry, uint64_t place);

/* Returns the number of entries. The number is exact with respect to adds and removes that are ordered with
 * this call. */
size_t od_registry_count(od_registry *registry);

/* Whether the registry is empty at one moment. If each entry adds the next entry before its own removal, the
 * result is never true. */
bool od_registry_is_empty(od_registry *registry);

/* Calls `visit` with each object that stays registered during the call, and with no removed object. An object
 * stays valid until its `visit` has returned. No function of this header may be called from `visit`. */
void od_registry_each(od_registry *registry, void (*visit)(void *context, void *object),
                      void *context);

OD_END_DECLS

#endif
