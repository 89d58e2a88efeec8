/* count.c — the slow paths of counting on a record: late counts, inactive records, and the notification of
 * watchers. */
#include "job/count.h"

#include "job/group.h"

/* Called after the last outstanding job of a watched record. The watch ends first, so that the watchers,
 * which check again, can decide to watch further. It ends only if no job is outstanding, because the record
 * may already serve another queue with jobs and watchers. Freed queues and groups tolerate the call. */
ODI_COLD void odi_record_drained(odi_record *record, odi_watchers watchers)
{
    odi_record_end_watch(record);
    if (watchers.group != NULL)
        odi_group_drained(watchers.group);
    if (watchers.queue != NULL)
        watchers.owner->drained(watchers.queue, record);
}

ODI_COLD bool odi_record_count_slowly(odi_record *record, uint64_t before, void *queue,
                                      odi_group *group, uint64_t jobs)
{
    bool counts = !(before & ODI_COUNTS_CLOSED) && odi_record_is(record, queue, group);

    if (!counts)
        odi_record_complete(record, jobs); /* it was cancelled or changed its queue in between */
    if (counts && !(before & ODI_COUNTS_KNOWN_TO_QUEUE))
        record->owner->know(record);
    if (counts && !(before & ODI_COUNTS_KNOWN_TO_GROUP) && group != NULL)
        odi_group_know(group, record);
    return counts;
}
