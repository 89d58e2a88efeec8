/* trace_flag.c — defines the flag of trace_flag.h. */
#include "base/trace_flag.h"

odi_atomic(uint8_t) odi_trace_wanted;
