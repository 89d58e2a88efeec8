/* What a library does that wants every program of its own on Overdrive: it installs the executor before main. */
#include "initialiser.h"

#include <stdbool.h>
#include <stdlib.h>

bool overdrive_global_install(void);

__attribute__((constructor)) static void install_before_main(void)
{
    if (getenv("PROBE_INSTALLS_BEFORE_MAIN") != NULL)
        (void)overdrive_global_install();
}

void initialiser_is_linked(void)
{
}
