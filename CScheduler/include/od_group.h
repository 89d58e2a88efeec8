/* od_group.h — groups: counts of jobs and manual entries, with a wait until all of them have left. */
#ifndef OD_GROUP_H
#define OD_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "od_pool.h"

OD_BEGIN_DECLS

typedef struct od_queue od_queue;
typedef struct odi_group od_group;

od_group *od_group_create(void); /* NULL if out of memory */

/* Releases the caller's reference; the group is freed when every entry has left. */
void od_group_release(od_group *group);

/* Adds a manual entry; each entry needs one od_group_leave. */
void od_group_enter(od_group *group);

/* Removes a manual entry; the last one ends the waits. */
void od_group_leave(od_group *group); /* traps if not entered */

/* Returns the number of entries, manual or by jobs, that have not left. The value is a hint while entries
 * come and go. */
uint64_t od_group_pending(od_group *group);

/* Sleeps until every entry has left. Returns false if the deadline passes first (nanoseconds from now;
 * INT64_MAX: none). A deadline of 0 or less only checks. A worker that waits may be replaced by a spare. */
bool od_group_wait(od_group *group, int64_t deadline_ns);

/* Waits for a group that was entered by hand for one job of `queue`. The job was submitted in `band`, or in
 * OD_QUEUE_BAND; it receives the waiter's band if that is higher. */
bool od_group_wait_for(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns);

/* Work of the Swift layer whose end empties the group. The engine calls these functions on any waiting thread,
 * to find waits that never end. `current` is the od_thread_work of a waiting thread. */
typedef struct od_awaited_work {
    const void *work;
    bool (*is_queued)(const void *work);
    bool (*is_of)(const void *work, void *current); /* whether the work cannot end before `current` */
    void (*name)(const void *work, char *text, size_t bytes);
} od_awaited_work;

/* Waits like od_group_wait_for; `queue` and `work` may be NULL. */
bool od_group_wait_for_work(od_group *group, od_queue *queue, int32_t band, const od_awaited_work *work,
                            int64_t deadline_ns);

/* The same with the kind of wait for reports, such as "for a task": a static string. */
bool od_group_wait_as(od_group *group, od_queue *queue, int32_t band, int64_t deadline_ns, const char *what);

/* Calls function(context) once, on the first thread that finds the group empty. Returns OD_NO_MEMORY, and
 * calls nothing, if an allocation fails. */
od_status od_group_notify(od_group *group, void (*function)(void *), void *context);

OD_END_DECLS
#endif
