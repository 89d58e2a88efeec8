/* never.h — functions that the files under test name and a scenario does not reach. */
#include "model/check.h"

__attribute__((used)) static void model_never(void)
{
    model_fail("a scenario reached what it was not to reach");
}

#define NEVER(name) __asm__(".globl " #name "\n.set " #name ", model_never");
