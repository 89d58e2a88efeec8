/* appointments.h — the timers of a wave, and what each of them owes. */
#ifndef FAULTS_APPOINTMENTS_H
#define FAULTS_APPOINTMENTS_H

#include "Faults/faults.h"

typedef enum {
    ONCE_SOON,              /* is called once */
    ONCE_SOON_ALONE,        /* the same, as a barrier */
    ONCE_FAR_OFF,           /* is called off long before */
    AGAIN_UNTIL_CALLED_OFF, /* repeats until the wave's end */
    AGAIN_UNTIL_ITS_THIRD,  /* its own third call calls it off */
    APPOINTMENTS
} appointment_kind;

/* Arms the wave's timer of this kind. Each of its calls is a job of the ledger. */
void appoint(run *it, appointment_kind kind, od_queue *queue, void (*body)(job *), int number);

/* Waits for those that end by themselves, and calls the others off. */
void call_off_appointments(run *it);

/* All are over, or will be soon. Stopped: the pool has ended those that were not. */
void settle_appointments(run *it, bool stopped);

#endif
