/* Runs one target under libFuzzer: -DFUZZ_TARGET=name names it when this is compiled.
 *
 *     clang -std=c11 -g -O1 -D_GNU_SOURCE -DFUZZ_TARGET=mounts -ICScheduler -ITests \
 *         -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fuse-ld=lld \
 *         Tests/Fuzz/fuzz.c Tests/Fuzz/targets.c CScheduler/topology/[a-z]*.c \
 *         CScheduler/os/affinity.c CScheduler/os/numa.c CScheduler/os/source.c -lnuma \
 *         -o fuzz_mounts
 *     ./fuzz_mounts -max_len=512 -max_total_time=60 NEW_TEXTS Tests/Fuzz/corpus/mounts
 */
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
    char *text = malloc(length + 1);
    if (text == NULL)
        abort();
    memcpy(text, bytes, length);
    text[length] = '\0';
    chosen->run(text);
    free(text);
    return 0;
}
