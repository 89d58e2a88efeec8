/* no_overrides.h — nobody overrides a band. */
#include "worker/override.h"

struct odi_overrides odi_overrides;
