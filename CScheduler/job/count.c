#include "job/count.h"

#include "job/group.h"

/* The last outstanding job of a watched record is done. The watch ends first, so that the
 * watchers, who look again, decide whether to watch on: but only if nothing is outstanding,
 * because the record may have been reaped and have jobs and watchers of its next life. Queues and groups
 * that are gone do not mind. */
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
        odi_record_complete(record, jobs); /* it was cancelled or changed hands meanwhile */
    if (counts && !(before & ODI_COUNTS_KNOWN_TO_QUEUE))
        record->owner->know(record);
    if (counts && !(before & ODI_COUNTS_KNOWN_TO_GROUP) && group != NULL)
        odi_group_know(group, record);
    return counts;
}
