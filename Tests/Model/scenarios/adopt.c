/* adopt.c — two threads give a queue what its user keeps with it (gate/asking.c): one of them
 * wins, and whoever reads it finds it as it was made (Q5).
 */
#include "doubles/lock.h"
#include "doubles/machine.h"

#include "gate/asking.c"

#include "doubles/never.h"
#include "model/scenario.h"

NEVER(odi_record_next_of_queue)
NEVER(odi_records_running_outside)
NEVER(odi_worker_run_record)

static od_queue queue;
static int kept[2]; /* plain: what the user keeps */
static odi_atomic(unsigned) wins;
static bool sees_one;

static void adopt(int which)
{
    kept[which] = which + 1;
    int *present = od_queue_adopt_context(&queue, &kept[which]);

    odi_add_relaxed(&wins, present == &kept[which]);
    model_check(*present == (int)(present - kept) + 1);
}

static void first(void) { adopt(0); }
static void second(void) { adopt(1); }

static void reads(void)
{
    int *present = od_queue_context(&queue);

    model_check(present == NULL || *present == (int)(present - kept) + 1);
    sees_one = present != NULL;
}

static void nothing(void) {}
static void verify(void) { model_check(odi_load_relaxed(&wins) == 1); }

MODEL_SCENARIO(context_is_adopted_once, nothing, verify, first, second, reads)
MODEL_REACHES(context_is_adopted_once, od_queue_context(&queue) == &kept[0], sees_one)
