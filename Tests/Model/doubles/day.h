/* day.h — worker/day.c, whose own odi_worker_self is out of the way: the scenario's thread sets
 * its place in model_self before it becomes a worker. At most one thread of a scenario does. */
#pragma push_macro("odi_worker_self")
#undef odi_worker_self
#define odi_worker_self day_worker_self
#include "worker/day.c"
#pragma pop_macro("odi_worker_self")
