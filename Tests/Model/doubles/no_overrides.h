/* no_overrides.h — nobody overrides a band. */
#include "worker/override.h"

void odi_overrides_forget(odi_team *team)
{
}
