/* selves.h — which worker a thread is, for scenarios with several threads: thread-local
 * variables are one for all of them, so odi_worker_self is a row of its own here. Included
 * before the files under test; worker/day.c, which defines the variable, comes through day.h.
 */
#include "model/scenario.h"
#include "worker/worker.h"

static odi_worker *model_self[MODEL_ROWS];

#define odi_worker_self (model_self[model_thread()])
