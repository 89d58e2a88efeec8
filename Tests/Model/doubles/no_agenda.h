/* no_agenda.h — worker/due.c and timer/agenda.c for scenarios in which nothing is ever armed. */
#include "worker/due.h"

bool odi_agenda_init(odi_agenda *agenda, int wheels)
{
    (void)agenda;
    (void)wheels;
    return true;
}

void odi_agenda_free(odi_agenda *agenda)
{
    (void)agenda;
}

void odi_agenda_forked(odi_agenda *agenda)
{
    (void)agenda;
}

void odi_agenda_close(odi_agenda *agenda)
{
    (void)agenda;
}

bool odi_crew_is_due(odi_crew *crew)
{
    (void)crew;
    return false;
}

void odi_crew_watch_agenda(odi_crew *crew, odi_site *site)
{
    (void)crew;
    (void)site;
}

void odi_crew_mind_agenda(odi_crew *crew)
{
    (void)crew;
}

void odi_worker_fire_due(odi_worker *worker)
{
    (void)worker;
}

void odi_worker_pass_time(odi_worker *worker)
{
    (void)worker;
}

void odi_worker_sleep(odi_worker *worker, uint32_t epoch)
{
    odi_idle_wait(&worker->site->idle, epoch, ODI_FOREVER, worker->slot);
}
