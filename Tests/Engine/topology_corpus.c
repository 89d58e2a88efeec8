/* Every text that the fuzzers start from or once failed on, without a fuzzer: as it is, cut
 * at every length, and with bytes replaced. */
#include "Engine/topology_fixtures.h"

#include "Fuzz/targets.h"

#include "base/rng.h"

#include <dirent.h>

enum { REPLACEMENTS = 200 };

static void folder_path(const char *folder, char *path, size_t capacity)
{
    const char *here = __FILE__;
    const char *slash = strrchr(here, '/');

    snprintf(path, capacity, "%.*s/../%s", slash != NULL ? (int)(slash - here) : 1,
             slash != NULL ? here : ".", folder);
}

/* From memory that ends where the text ends: a sanitizer sees every byte that is read too far. */
static void run_exact(const fuzz_entry *target, const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    target->run(copy);
    free(copy);
}

static void run_varied(const fuzz_entry *target, char *text, size_t length)
{
    static const char likely[] = "\0\n /:-,\\.09az)\xff\x80";
    size_t step = length / 64 + 1;
    uint64_t seed = odi_rng_seed(length);

    run_exact(target, text, length);
    for (size_t cut = 0; cut < length; cut += step)
        run_exact(target, text, cut);
    for (int i = 0; length > 0 && i < REPLACEMENTS; i++) {
        size_t at = odi_rng_below(&seed, (uint32_t)length);
        char before = text[at];

        text[at] = likely[odi_rng_below(&seed, sizeof likely - 1)];
        run_exact(target, text, length);
        text[at] = before;
    }
}

static int run_folder(const fuzz_entry *target, const char *folder)
{
    char path[1024], file[2048];
    int count = 0;

    folder_path(folder, path, sizeof path);
    DIR *directory = opendir(path);
    if (directory == NULL)
        fail_msg("%s is not there", path);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        char *text = read_whole(file);
        run_varied(target, text, strlen(text));
        free(text);
        count++;
    }
    closedir(directory);
    return count;
}

TEST(no_known_text_breaks_a_promise)
{
    for (const fuzz_entry *target = fuzz_targets; target->name != NULL; target++) {
        char folder[128];

        snprintf(folder, sizeof folder, "Fuzz/corpus/%s", target->name);
        int count = run_folder(target, folder);
        if (strcmp(target->name, "machine") == 0)
            count += run_folder(target, "Fixtures/machines");
        print_message("%s: %d texts\n", target->name, count);
        assert_true(count > 0);
    }
}

TEST(random_bytes_break_no_promise)
{
    uint64_t seed = odi_rng_seed(2024);

    for (const fuzz_entry *target = fuzz_targets; target->name != NULL; target++) {
        for (int i = 0; i < 2000; i++) {
            char text[64];
            size_t length = odi_rng_below(&seed, sizeof text);

            for (size_t at = 0; at < length; at++)
                text[at] = (char)odi_rng_next(&seed);
            run_exact(target, text, length);
        }
    }
}

TEST_PROGRAM

#include "Fuzz/targets.c"
