/* The small texts of /proc and /sys, one parser at a time, each from a buffer that ends
 * where the text ends. */
#include "Engine/topology_fixtures.h"

#include "topology/cgroup_files.h"
#include "topology/cpu_list.h"
#include "topology/mounts.h"
#include "topology/node_files.h"
#include "topology/setting.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- lists of CPUs --------------------------------------------------------------------- */

static odi_list_status parse_list(const char *text, odi_cpu_mask *mask)
{
    char *copy = exact_copy(text, strlen(text));
    odi_list_status status = odi_cpu_list_parse(copy, strlen(text), mask);

    free(copy);
    return status;
}

TEST(lists_of_cpus_are_understood)
{
    static const struct {
        const char *text;
        int count, first, last;
    } lists[] = {
        {"", 0, -1, -1},
        {"\n", 0, -1, -1},
        {"0\n", 1, 0, 0},
        {"0-3,8,10-11", 7, 0, 11},
        {" 5 \n", 1, 5, 5},
        {"8,0-3,2", 5, 0, 8},
        {"0-31:2/8", 8, 0, 25},
        {"10-11:2/4", 2, 10, 11},
        {"0-9:1/3", 4, 0, 9},
        {"0-10:2", 6, 0, 10},
        {"4-9:3/3", 6, 4, 9},
        {"0-8191", 8192, 0, 8191},
        {"0-8191:1/8192", 1, 0, 0},
        {"63-64,127-128", 4, 63, 128},
        {"1-1:1/1", 1, 1, 1},
        {"007", 1, 7, 7},
        {"2-70:9999999/9999999", 69, 2, 70},
        {"2-70:1/18446744073709551615", 1, 2, 2},
    };

    for (size_t i = 0; i < COUNT(lists); i++) {
        odi_cpu_mask mask;
        odi_list_status status = parse_list(lists[i].text, &mask);
        int last = -1;

        for (int c = odi_cpu_mask_next(&mask, 0); c >= 0; c = odi_cpu_mask_next(&mask, c + 1))
            last = c;
        if (status != ODI_LIST_OK || odi_cpu_mask_count(&mask) != lists[i].count ||
            odi_cpu_mask_next(&mask, 0) != lists[i].first || last != lists[i].last)
            fail_msg("\"%s\": status %d, %d CPUs from %d to %d", lists[i].text, status,
                     odi_cpu_mask_count(&mask), odi_cpu_mask_next(&mask, 0), last);
    }
}

TEST(what_is_no_list_is_refused_whole)
{
    static const char *const wrong[] = {
        ",", "0,", ",0", "0,,1", "-1", "1-", "3-1", "a", "0-3a", "0 1", "1-2-3", "0-3:",
        "0-3:2/", "0-3:/2", "0-3:0/2", "0-3:3/2", "0-3:1/0", "0-3:0", "5:1/2", "0x3", "+1",
        "1.5", "0-3:1/2/3", "\x01", "0-3,banana", "0;1",
    };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        odi_cpu_mask mask;

        if (parse_list(wrong[i], &mask) != ODI_LIST_MALFORMED ||
            odi_cpu_mask_count(&mask) != 0)
            fail_msg("\"%s\" was taken for a list", wrong[i]);
    }
}

TEST(ids_that_no_mask_can_hold_are_left_out_and_said)
{
    odi_cpu_mask mask;

    assert_int_equal(parse_list("1,8192", &mask), ODI_LIST_BEYOND);
    assert_int_equal(odi_cpu_mask_count(&mask), 1);
    assert_int_equal(parse_list("8190-18446744073709551616", &mask), ODI_LIST_BEYOND);
    assert_int_equal(odi_cpu_mask_count(&mask), 2);
    assert_int_equal(parse_list("99999999999999999999999999", &mask), ODI_LIST_BEYOND);
    assert_int_equal(odi_cpu_mask_count(&mask), 0);
    assert_int_equal(parse_list("0-99999999:2/4", &mask), ODI_LIST_BEYOND);
    assert_int_equal(odi_cpu_mask_count(&mask), 4096);
    /* A number one digit past 64 bits must not come back small. */
    assert_int_equal(parse_list("18446744073709551617", &mask), ODI_LIST_BEYOND);
    assert_int_equal(odi_cpu_mask_count(&mask), 0);
}

/* ---- quotas ---------------------------------------------------------------------------- */

static odi_quota_status parse_max(const char *text, odi_quota *quota)
{
    char *copy = exact_copy(text, strlen(text));
    odi_quota_status status = odi_quota_parse_max(copy, strlen(text), quota);

    free(copy);
    return status;
}

TEST(v2_quotas_are_understood)
{
    static const char *const wrong[] = {
        "", "\n", "200000", "0 100000", "-1 100000", "100000 0", "100000 -1", "x 100000",
        "max100000 1", "1.5 100000", "100000 x", "100000 100000 100000", "0x10 100000",
        "99999999999999999999 100000", "9223372036854775808 1", "100000 99999999999999999999",
    };
    odi_quota quota = {0, 0};

    assert_int_equal(parse_max("max 100000\n", &quota), ODI_QUOTA_NONE);
    assert_int_equal(parse_max("max", &quota), ODI_QUOTA_NONE);
    assert_int_equal(parse_max("250000 100000\n", &quota), ODI_QUOTA_SET);
    assert_int_equal(quota.quota_us, 250000);
    assert_int_equal(quota.period_us, 100000);
    assert_int_equal(parse_max("9223372036854775807 1", &quota), ODI_QUOTA_SET);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        odi_quota untouched = {7, 7};

        if (parse_max(wrong[i], &untouched) != ODI_QUOTA_MALFORMED ||
            untouched.quota_us != 7 || untouched.period_us != 7)
            fail_msg("\"%s\" was taken for a quota", wrong[i]);
    }
}

TEST(v1_quotas_are_understood)
{
    odi_quota quota = {0, 0};

    assert_int_equal(odi_quota_parse_cfs("-1\n", 3, &quota), ODI_QUOTA_NONE);
    assert_int_equal(odi_quota_parse_cfs("-200", 4, &quota), ODI_QUOTA_NONE);
    assert_int_equal(odi_quota_parse_cfs("0", 1, &quota), ODI_QUOTA_MALFORMED);
    assert_int_equal(odi_quota_parse_cfs("", 0, &quota), ODI_QUOTA_MALFORMED);
    assert_int_equal(odi_quota_parse_cfs("--1", 3, &quota), ODI_QUOTA_MALFORMED);
    assert_int_equal(odi_quota_parse_cfs("150000\n", 7, &quota), ODI_QUOTA_SET);
    assert_int_equal(quota.quota_us, 150000);
    assert_int_equal(odi_quota_parse_period("0\n", 2, &quota), ODI_QUOTA_MALFORMED);
    assert_int_equal(odi_quota_parse_period("-5", 2, &quota), ODI_QUOTA_MALFORMED);
    assert_int_equal(odi_quota_parse_period("100000\n", 7, &quota), ODI_QUOTA_SET);
    assert_int_equal(quota.period_us, 100000);
}

TEST(quotas_are_compared_exactly)
{
    odi_quota huge = {INT64_MAX, INT64_MAX - 1}, one = {1, 1}, third = {1, 3};
    odi_quota third_too = {33333, 99999}, more = {33334, 99999};

    assert_true(odi_quota_is_tighter(one, huge));
    assert_false(odi_quota_is_tighter(huge, one));
    assert_false(odi_quota_is_tighter(third, third_too));
    assert_false(odi_quota_is_tighter(third_too, third));
    assert_true(odi_quota_is_tighter(third, more));
}

/* ---- our group ------------------------------------------------------------------------- */

static void check_group(const char *text, const char *controller, const char *want)
{
    char *copy = exact_copy(text, strlen(text));
    odi_text path = {NULL, NULL};
    bool found = odi_cgroup_find(copy, strlen(text), controller, &path);

    if (found != (want != NULL) || (found && !odi_text_equals(path, want)))
        fail_msg("\"%s\": expected %s", text, want != NULL ? want : "nothing");
    free(copy);
}

TEST(our_group_is_found_in_each_hierarchy)
{
    static const char both[] = "4:cpu,cpuacct:/one\n3:cpuset:/two\n1:name=systemd:/n\n0::/three\n";

    check_group(both, "cpu", "/one");
    check_group(both, "cpuacct", "/one");
    check_group(both, "cpuset", "/two");
    check_group(both, NULL, "/three");
    check_group(both, "memory", NULL);
    check_group("0::/a:b:c", NULL, "/a:b:c");
    check_group("0::/a (deleted)\n", NULL, "/a");
    check_group("0::/", NULL, "/");
    check_group("0:: /", NULL, NULL);
    check_group("0::", NULL, NULL);
    check_group("0:", NULL, NULL);
    check_group("0", NULL, NULL);
    check_group("", NULL, NULL);
    check_group("1::/x\n", NULL, NULL);
    check_group("4:cpuset:/x\n", "cpu", NULL);
    check_group("\n\n:\n::\n0::/late", NULL, "/late");
}

/* ---- mounts ---------------------------------------------------------------------------- */

static bool find_mount(const char *text, const char *controller, const char *group,
                       odi_cgroup_mount *mount)
{
    char *copy = exact_copy(text, strlen(text));
    bool found = odi_cgroup_mount_find(copy, strlen(text), controller,
                                       odi_text_of(group, strlen(group)), mount);

    free(copy);
    return found;
}

TEST(mounts_of_control_groups_are_found)
{
    odi_cgroup_mount mount;

    assert_true(find_mount("29 23 0:26 / /g rw shared:4 master:2 - cgroup2 cgroup2 rw", NULL,
                           "/a", &mount));
    assert_string_equal(mount.point, "/g");
    assert_string_equal(mount.root, "");
    assert_true(mount.above);

    assert_true(find_mount("29 23 0:26 /a /g\\040h\\134\\011/ rw - cgroup c rw,cpuacct,cpu",
                           "cpu", "/a/b", &mount));
    assert_string_equal(mount.point, "/g h\\\t");
    assert_string_equal(mount.root, "/a");
    assert_true(mount.above);

    /* Escapes that are none stay as they are. */
    assert_true(find_mount("1 1 0:1 / /g\\9\\18x\\477\\ rw - cgroup2 c rw", NULL, "/", &mount));
    assert_string_equal(mount.point, "/g\\9\\18x\\477\\");

    /* "/ab" is not below "/a". */
    assert_true(find_mount("29 23 0:26 /a /g rw - cgroup2 c rw", NULL, "/ab", &mount));
    assert_false(mount.above);
}

TEST(the_mount_that_shows_most_ancestors_wins)
{
    static const char three[] = "1 1 0:1 /a/b /narrow rw - cgroup2 c rw\n"
                                "2 1 0:1 /other /beside rw - cgroup2 c rw\n"
                                "3 1 0:1 /a /wide rw - cgroup2 c rw\n"
                                "4 1 0:1 /a /wide-later rw - cgroup2 c rw\n"
                                "5 1 0:1 /a/b/c /narrowest rw - cgroup2 c rw\n"
                                "6 1 0:1 /other /beside-later rw - cgroup2 c rw\n";
    odi_cgroup_mount mount;

    assert_true(find_mount(three, NULL, "/a/b/c/d", &mount));
    assert_string_equal(mount.point, "/wide-later");
    assert_true(find_mount(three, NULL, "/nowhere", &mount));
    assert_string_equal(mount.point, "/beside-later");
    assert_false(mount.above);
}

TEST(broken_mount_lines_are_passed_over)
{
    static const char *const wrong[] = {
        "", "\n", "29", "29 23 0:26", "29 23 0:26 /", "29 23 0:26 / /g", "29 23 0:26 / /g rw",
        "29 23 0:26 / /g rw -", "29 23 0:26 / /g rw - cgroup2", "29 23 0:26 x /g rw - cgroup2 c rw",
        "29 23 0:26 / g rw - cgroup2 c rw", "29 23 0:26 / /g\\000h rw - cgroup2 c rw",
        "29 23 0:26 / /g rw - cgroup c rw,cpu", "29 23 0:26 / /g rw cgroup2 c rw",
        "29 23 0:26  /g rw - cgroup2 c rw",
    };
    odi_cgroup_mount mount;
    char long_line[2 * ODI_PATH_LIMIT];

    for (size_t i = 0; i < COUNT(wrong); i++) {
        if (find_mount(wrong[i], NULL, "/", &mount))
            fail_msg("\"%s\" was taken for a mount", wrong[i]);
    }
    assert_false(find_mount("29 23 0:26 / /g rw - cgroup c rw,cpuset", "cpu", "/", &mount));

    memset(long_line, 'p', sizeof long_line);
    memcpy(long_line, "29 23 0:26 / /", 14);
    strcpy(long_line + sizeof long_line - 21, " rw - cgroup2 c rw\n");
    assert_false(find_mount(long_line, NULL, "/", &mount));
}

TEST(paths_below_a_root_never_climb)
{
    odi_text rest;

    assert_true(odi_cgroup_below(odi_text_of("/a/b/", 5), "/a", &rest));
    assert_true(odi_text_equals(rest, "/b"));
    assert_true(odi_cgroup_below(odi_text_of("/", 1), "", &rest));
    assert_true(odi_text_equals(rest, ""));
    assert_true(odi_cgroup_below(odi_text_of("/../x", 5), "/..", &rest));
    assert_true(odi_text_equals(rest, "/x"));
    assert_false(odi_cgroup_below(odi_text_of("/../x", 5), "", &rest));
    assert_false(odi_cgroup_below(odi_text_of("/a/..", 5), "/a", &rest));
    assert_true(odi_cgroup_below(odi_text_of("/a/..b", 6), "/a", &rest));
}

/* ---- nodes, threads, settings ---------------------------------------------------------- */

TEST(distance_rows_are_understood)
{
    static const char *const wrong[] = {"", "\n", "x", "10 -1", "10,20", "10 x", "0", "10 0"};
    uint8_t row[4] = {0};

    assert_int_equal(odi_distance_row_parse("10 21\n", 6, row, 4), 2);
    assert_int_equal(row[1], 21);
    assert_int_equal(odi_distance_row_parse("10  300 20 30 40", 16, row, 4), 5);
    assert_int_equal(row[1], 255);
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(odi_distance_row_parse(wrong[i], strlen(wrong[i]), row, 4), -1);
}

static uint64_t parse_memory(const char *text)
{
    return odi_node_memory_parse(text, strlen(text));
}

TEST(node_memory_is_understood)
{
    assert_int_equal(parse_memory("Node 0 MemTotal:       16384 kB\nNode 0 MemFree: 1 kB\n"),
                     16384 * 1024);
    assert_int_equal(parse_memory("\nNode 12 MemTotal: 1 kB"), 1024);
    assert_int_equal(parse_memory("Node 0 MemFree: 1 kB\n"), 0);
    assert_int_equal(parse_memory("Node 0 MemTotal: 1 MB\n"), 0);
    assert_int_equal(parse_memory("Node 0 MemTotal: 18446744073709551615 kB\n"), 0);
    assert_int_equal(parse_memory("MemTotal:"), 0);
    assert_int_equal(parse_memory(""), 0);
}

static bool parse_integer(const char *text, int64_t *value, char *problem, size_t capacity)
{
    return odi_setting_integer("OVERDRIVE_WORKERS", text, strlen(text), 1, 1024, value,
                               problem, capacity);
}

TEST(settings_are_whole_numbers_in_range)
{
    static const char *const wrong[] = {"", " 4", "4 ", "+4", "0", "1025", "-4", "4.0", "four",
                                        "0x4", "18446744073709551617", "-", "4\n"};
    char problem[256], small[10];
    int64_t value = 0;

    assert_true(parse_integer("1", &value, problem, sizeof problem));
    assert_int_equal(value, 1);
    assert_true(parse_integer("0001024", &value, NULL, 0));
    assert_int_equal(value, 1024);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        value = 77;
        if (parse_integer(wrong[i], &value, problem, sizeof problem) || value != 77)
            fail_msg("\"%s\" was taken for a number of workers", wrong[i]);
    }
    assert_true(odi_setting_integer("X", "-9223372036854775807", 20, INT64_MIN, 0, &value,
                                    NULL, 0));
    assert_true(value == -INT64_MAX);

    assert_false(parse_integer("many\x1b[2J", &value, problem, sizeof problem));
    assert_string_equal(problem, "OVERDRIVE_WORKERS is \"many?[2J\", but must be a whole "
                                 "number from 1 to 1024");
    assert_false(parse_integer("many", &value, small, sizeof small));
    assert_string_equal(small, "OVERDRIVE");
    assert_false(parse_integer("many", &value, NULL, 0));
}

TEST(settings_are_one_of_some_words)
{
    static const char *const words[] = {"none", "node", "core"};
    char problem[256], many[4096];
    int choice = -1;

    assert_true(odi_setting_choice("P", "core", 4, words, 3, &choice, problem, sizeof problem));
    assert_int_equal(choice, 2);
    assert_false(odi_setting_choice("P", "cores", 5, words, 3, &choice, problem,
                                    sizeof problem));
    assert_string_equal(problem, "P is \"cores\", but must be none, node or core");
    assert_int_equal(choice, 2);
    memset(many, 'a', sizeof many);
    assert_false(odi_setting_choice("P", many, sizeof many, words, 3, &choice, problem,
                                    sizeof problem));
    assert_non_null(strstr(problem, "\"...aaa"));
    assert_false(odi_setting_choice("P", "", 0, words, 3, &choice, NULL, 0));
}

TEST(printing_cuts_between_characters)
{
    char text[8];

    odi_text_print(odi_text_of("ab\tc\x7f", 5), text, sizeof text);
    assert_string_equal(text, "ab?c?");
    odi_text_print(odi_text_of("aaaaaaa\xc3\xa9z", 10), text, 6);
    assert_string_equal(text, "...z");
    odi_text_print(odi_text_of("abcdef", 6), text, 3);
    assert_string_equal(text, "ab");
    odi_text_print(odi_text_of("abcdef", 6), text, 1);
    assert_string_equal(text, "");
    odi_text_print(odi_text_of("abcdef", 6), text, 0);
}

TEST_PROGRAM
