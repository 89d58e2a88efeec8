/* Runs one target under libFuzzer: -DFUZZ_TARGET=name names it when this is compiled. */
#include "Fuzz/targets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED(name) #name
#define AS_TEXT(name) QUOTED(name)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const fuzz_entry *chosen;

    if (chosen == NULL) {
        for (chosen = fuzz_targets; chosen->name != NULL; chosen++) {
            if (strcmp(chosen->name, AS_TEXT(FUZZ_TARGET)) == 0)
                break;
        }
        if (chosen->name == NULL)
            abort();
    }
    chosen->run((const char *)bytes, length);
    return 0;
}
