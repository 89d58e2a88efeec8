/* no_timers.h — worker/due.c, timer/timer_queue.c and pool/timer_thread.c for scenarios in which nothing is ever armed. */
#include "pool/timer_thread.h"
#include "worker/due.h"

bool odi_timer_queue_init(odi_timer_queue *timers, int wheels) { return true; }
void odi_timer_queue_free(odi_timer_queue *timers) {}
void odi_timer_queue_forked(odi_timer_queue *timers) {}
void odi_timer_queue_close(odi_timer_queue *timers) {}
int64_t odi_timer_queue_earliest(odi_timer_queue *timers) { return ODI_FOREVER; }
void odi_team_watch_timers(odi_team *team, odi_site *site) {}
void odi_timer_thread_wake(od_pool *pool) {}
bool odi_timer_thread_is_here(const od_pool *pool) { return false; }
void odi_worker_fire_due(odi_worker *worker) {}
void odi_worker_pass_time(odi_worker *worker) {}

void odi_worker_sleep(odi_worker *worker, uint32_t epoch)
{
    odi_idle_wait(&worker->site->idle, epoch, ODI_FOREVER, worker->slot);
}
