/* roll.h — a registry, which three threads fill and empty at once. */
#ifndef FAULTS_ROLL_H
#define FAULTS_ROLL_H

#include "Faults/faults.h"

void roll_open(run *it);
void roll_close(run *it);

/* Adds objects, looks whether each that got a place is there once, and removes them. */
void roll_call(int helper);

#endif
