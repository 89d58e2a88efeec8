/* od_group.h — groups: what was entered by hand or by jobs, and waiting until all of it has left. */
#ifndef OD_GROUP_H
#define OD_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;
typedef struct odi_group od_group;

od_group *od_group_create(void); /* NULL when memory is short */
void od_group_release(od_group *group);
void od_group_enter(od_group *group);
void od_group_leave(od_group *group); /* traps when entered less often */

/* What was entered, by hand or by jobs, and has not left. A hint while it changes. */
uint64_t od_group_pending(od_group *group);

/* Sleeps until everything entered has left. False: the deadline (nanoseconds from now;
 * INT64_MAX: none; 0 or less: it only looks) came first. A worker that waits hands its place over. */
bool od_group_wait(od_group *group, int64_t deadline_ns);

/* The same for a group that was entered by hand for a job of `queue`, submitted in `band` or
 * OD_QUEUE_BAND: the waiter's band overrides that of that job too. */
bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns);

/* Calls function(context) once, on whichever thread finds the group empty first. OD_NO_MEMORY: memory is short, and
 * nothing is called. */
od_status od_group_notify(od_group *group, void (*function)(void *), void *context);

OD_END_DECLS
#endif
