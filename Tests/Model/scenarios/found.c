/* found.c — who submits to a queue finds the record that another thread has just made for it
 * (gate/records.c over job/record.c): its fields are readable (L5).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "job/record.c"

#include "job/label.c"

#include "job/count.c"

#include "job/group.c"

#include "gate/queue.c"
#include "gate/records.c"
#include "gate/submit.c"

#include "doubles/never.h"
#include "doubles/records.h"
#include "model/scenario.h"

NEVER(odi_arena_forked)
NEVER(odi_arena_give)
NEVER(odi_arena_take)
NEVER(odi_fifo_free_blocks)
NEVER(odi_fifo_push)
NEVER(odi_limit_submit)
NEVER(odi_limit_try)
NEVER(odi_pool_begin)
NEVER(odi_pool_discard)
NEVER(odi_pool_report_refusal)
NEVER(odi_pool_refuse)
NEVER(odi_pool_submit_node)
NEVER(odi_queue_before_drained)
NEVER(odi_queue_carry_out)
NEVER(odi_queue_has_passes)
NEVER(odi_queue_is_clear)
NEVER(odi_queue_keep_line)
NEVER(odi_queue_pass_raised)
NEVER(odi_queue_raise)
NEVER(odi_queue_raise_all)
NEVER(odi_queue_see_to_drainers)
NEVER(odi_queue_settle)
NEVER(odi_queue_settle_and_release)
NEVER(odi_record_withdraw)
NEVER(odi_run_discard)
NEVER(odi_run_outside)
NEVER(odi_run_outside_of)
NEVER(odi_set_is_empty)
NEVER(odi_watch_changed)
NEVER(odi_worker_put_next)
NEVER(odi_worker_reserve_counts)

_Thread_local odi_worker *odi_worker_self __attribute__((tls_model("initial-exec")));
_Thread_local odi_outside *odi_outsides;
_Thread_local od_scope *odi_scopes;

static od_pool pool;
static od_queue queue;
static odi_entry submitted[MODEL_ROWS];

bool odi_pool_submit(od_pool *whose, uint32_t band, odi_entry job)
{
    model_check(whose == &pool && band == 2);
    submitted[model_thread()] = job;
    return true;
}

/* The queue opens with its first job. */
static void prepare(void)
{
    odi_store_relaxed(&queue.inbox.diverted, true); /* relaxed: nobody else is there */
    queue.pool = &pool;
    queue.band = 2;
    queue.gate.width = ODI_GATE_UNLIMITED;
    odi_queue_close_current(&queue);
}

static void body(void *context) {}
static void submits(void) { od_queue_async(&queue, NULL, OD_QUEUE_BAND, body, NULL); }

static void verify(void)
{
    odi_record *record = (odi_record *)odi_load_relaxed(&queue.current[2]);

    model_check(record != NULL && queue.records == record && record->next_of_queue == NULL);
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 2);
    model_check(odi_job_tag(submitted[0]) == record->tag);
    model_check(odi_job_tag(submitted[1]) == record->tag);
}

MODEL_SCENARIO(record_is_found, prepare, verify, submits, submits)
MODEL_REACHES(record_is_found, model_met(0, "odi_queue_make_current") > 0, model_met(1, "odi_queue_make_current") > 0)

/* The same for the record that a group has for the queue (job/group.c): whoever finds it as the last one reads its key. */

static odi_group group;

static void prepare_the_group(void) { prepare(); clear(&group); }
static void submits_in_the_group(void) { od_queue_async(&queue, &group, OD_QUEUE_BAND, body, NULL); }

static void verify_the_group(void)
{
    odi_record *record = odi_load_relaxed(&group.last);

    model_check(record != NULL && group.records == record && record->next_of_group == NULL);
    model_check(odi_counts_outstanding(odi_load_relaxed(&record->counts)) == 2);
    model_check(odi_job_tag(submitted[0]) == record->tag);
    model_check(odi_job_tag(submitted[1]) == record->tag);
}

MODEL_SCENARIO(record_is_found_by_group, prepare_the_group, verify_the_group, submits_in_the_group, submits_in_the_group)
MODEL_REACHES(record_is_found_by_group, model_met(0, "odi_record_new") > 0, model_met(1, "odi_record_new") > 0)
