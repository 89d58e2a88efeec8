/* one_test.c — loaded before a cmocka program: of its tests only $MUSEUM_TEST runs. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern);

__attribute__((constructor)) static void choose(void)
{
    cmocka_set_test_filter(getenv("MUSEUM_TEST"));
}
