/* tally.h — how many jobs ran. */
#include "model/scenario.h"

static unsigned ran[MODEL_ROWS];

static unsigned total(void) { return model_sum(ran); }
