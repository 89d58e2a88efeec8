/* tally.h — how many jobs ran: every thread counts in its own row, so that the tally itself orders nothing. */
#include "model/scenario.h"

static unsigned ran[MODEL_ROWS];

static unsigned total(void)
{
    unsigned sum = 0;

    for (unsigned row = 0; row < MODEL_ROWS; row++)
        sum += ran[row];
    return sum;
}
