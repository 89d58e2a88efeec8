/* The small texts of /proc and /sys, and what a person typed, one parser at a time. */
#include "Engine/topology_fixtures.h"

#include "topology/limits.h"
#include "topology/setting.h"
#include "topology/topology.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- lists of CPUs --------------------------------------------------------------------- */

/* From memory that ends where the text ends. */
static bool parse_list(const char *text, odi_cpu_mask *mask)
{
    char *copy = strdup(text);
    bool valid = odi_cpu_mask_parse(copy, mask);

    free(copy);
    return valid;
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
        {"0-8191", 8192, 0, 8191},
        {"63-64,127-128", 4, 63, 128},
        {"007", 1, 7, 7},
        /* What no mask can hold is left out; a number past 64 bits must not come back small. */
        {"1,8192", 1, 1, 1},
        {"8190-18446744073709551616", 2, 8190, 8191},
        {"99999999999999999999999999", 0, -1, -1},
        {"18446744073709551617", 0, -1, -1},
    };

    for (size_t i = 0; i < COUNT(lists); i++) {
        odi_cpu_mask mask;
        bool valid = parse_list(lists[i].text, &mask);
        int last = -1;

        for (int c = odi_cpu_mask_next(&mask, 0); c >= 0; c = odi_cpu_mask_next(&mask, c + 1))
            last = c;
        if (!valid || odi_cpu_mask_count(&mask) != lists[i].count ||
            odi_cpu_mask_next(&mask, 0) != lists[i].first || last != lists[i].last)
            fail_msg("\"%s\": valid %d, %d CPUs from %d to %d", lists[i].text, valid,
                     odi_cpu_mask_count(&mask), odi_cpu_mask_next(&mask, 0), last);
    }
}

TEST(what_is_no_list_is_refused_whole)
{
    static const char *const wrong[] = {
        ",", "0,", ",0", "0,,1", "-1", "1-", "3-1", "a", "0-3a", "0 1", "1-2-3", "0-3:1/2", "0x3",
        "+1", "1.5", "\x01", "0-3,banana", "0;1", "0, 1", "1- 2",
    };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        odi_cpu_mask mask;

        if (parse_list(wrong[i], &mask) || odi_cpu_mask_count(&mask) != 0)
            fail_msg("\"%s\" was taken for a list", wrong[i]);
    }
}

/* ---- quotas ---------------------------------------------------------------------------- */

/* The limits of a machine with these files. */
static odi_limits limits_with(const char *format, const char *first, const char *second)
{
    static char text[8 * ODI_PATH_LIMIT];
    odi_source source = source_of(text);
    odi_limits limits;

    snprintf(text, sizeof text, format, first, second);
    strcat(text, "\n== /proc/self/status\nCpus_allowed_list: 0-3\n");
    odi_limits_read(&source, NULL, &limits);
    return limits;
}

#define V2 "== /proc/self/cgroup\n0::/a\n== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n"
#define V1 "== /proc/self/cgroup\n1:cpu:/a\n== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup c cpu\n"

static void check_quota(odi_limits limits, const char *text, int64_t quota, int64_t period)
{
    if (limits.quota_us != quota || limits.period_us != period)
        fail_msg("\"%s\": %lld of %lld", text, (long long)limits.quota_us, (long long)limits.period_us);
    if ((limits.note[0] != '\0') != (quota < 0))
        fail_msg("\"%s\": odd: %s", text, limits.note);
}

TEST(v2_quotas_are_understood)
{
    static const char *const none[] = {"max 100000\n", "max"};
    static const char *const wrong[] = {
        "", "\n", "200000", "0 100000", "100000 0", "100000 -1", "x 100000", "1.5 100000",
        "100000 x", "0x10 100000", "99999999999999999999 100000", "9223372036854775808 1",
        "100000 99999999999999999999", "100000 000000000000000000000000000000000000000000000000000100000",
    };
    const char *const file = V2 "=- /g/a/cpu.max\n%s\n";

    for (size_t i = 0; i < COUNT(none); i++)
        check_quota(limits_with(file, none[i], ""), none[i], 0, 0);
    check_quota(limits_with(file, "250000 100000\n", ""), "250000 100000", 250000, 100000);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        odi_limits limits = limits_with(file, wrong[i], "");

        if (limits.quota_us != 0 || strcmp(limits.note, "ignored a malformed cpu.max of /a") != 0)
            fail_msg("\"%s\" was taken for a quota", wrong[i]);
    }
}

TEST(v1_quotas_are_understood)
{
    static const struct {
        const char *quota, *period;
        int64_t want;
        bool odd;
    } cases[] = {
        {"-1\n", "100000\n", 0, false}, {"-200", "100000", 0, false}, {"0", "100000", 0, true},
        {"", "100000", 0, true},        {"--1", "100000", 0, false},  {"150000\n", "100000\n", 150000, false},
        {"150000", "0\n", 0, true},     {"150000", "-5", 0, true},    {"150000", "", 0, true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        odi_limits limits = limits_with(V1 "== /g/a/cpu.cfs_quota_us\n%s\n== /g/a/cpu.cfs_period_us\n%s\n",
                                        cases[i].quota, cases[i].period);

        if (limits.quota_us != cases[i].want || (limits.note[0] != '\0') != cases[i].odd)
            fail_msg("\"%s\" per \"%s\": %lld, odd: %s", cases[i].quota, cases[i].period,
                     (long long)limits.quota_us, limits.note);
    }
}

TEST(the_tightest_quota_counts)
{
    static const struct {
        const char *child, *parent;
        int64_t quota;
    } cases[] = {
        {"100000 300000", "33333 99999", 100000}, /* the same */
        {"33334 99999", "100000 300000", 100000},
        {"100000 300000", "33334 99999", 100000},
        {"999999999999 999999999998", "1 1", 1},
        {"1 1", "999999999999 999999999998", 1},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(limits_with(V2 "== /g/a/cpu.max\n%s\n== /g/cpu.max\n%s\n", cases[i].child,
                                     cases[i].parent).quota_us, cases[i].quota);
}

/* ---- our group, and the mounts through which it is seen -------------------------------- */

/* Each group of these hierarchies has a quota of its own, so that it tells which was found. */
static void check_group(const char *cgroup, const char *controller, const char *want)
{
    char mounts[64];
    odi_limits limits;

    snprintf(mounts, sizeof mounts, "1 1 0:1 / /g rw - cgroup%s c %s", controller[0] != '\0' ? "" : "2",
             controller);
    limits = limits_with("== /proc/self/cgroup\n%s\n== /proc/self/mountinfo\n%s\n"
                         "== /g/one/cpu.cfs_quota_us\n1\n== /g/one/cpu.cfs_period_us\n1\n"
                         "== /g/three/cpu.max\n3 1\n== /g/a:b:c/cpu.max\n4 1\n== /g/cpu.max\n5 1\n",
                         cgroup, mounts);
    if (strcmp(limits.quota_group, want) != 0)
        fail_msg("\"%s\": \"%s\", expected \"%s\"", cgroup, limits.quota_group, want);
}

TEST(our_group_is_found_in_each_hierarchy)
{
    static const char both[] = "4:cpu,cpuacct:/one\n3:cpuset:/two\n1:name=systemd:/n\n0::/three\n";

    check_group(both, "cpu", "/one");
    check_group("4:cpuacct,cpu:/one\n", "rw,cpuacct,cpu", "/one");
    check_group(both, "", "/three");
    check_group("0::/a:b:c", "", "/a:b:c");
    check_group("0::/three (deleted)\n", "", "/three");
    check_group("0::/", "", "/");
    check_group("0:: /", "", "");
    check_group("0::", "", "");
    check_group("0:", "", "");
    check_group("0", "", "");
    check_group("", "", "");
    check_group("1::/three\n", "", "");
    check_group("4:cpuset:/one\n", "cpu", "");
    check_group("4:xcpu,cpux:/one\n", "cpu", "");
    check_group("\n\n:\n::\n0::/three", "", "/three");
}

/* Which directory is read for a group; NULL: none. The mount's point is a line of the kernel's. */
static void check_mount(const char *group, const char *mounts, const char *directory, const char *want)
{
    char files[2 * ODI_PATH_LIMIT];

    snprintf(files, sizeof files, "%s\n== %s/cpu.max\n7 1\n== %s/cpu.cfs_quota_us\n7\n== %s/cpu.cfs_period_us\n1",
             mounts, directory, directory, directory);
    odi_limits limits = limits_with("== /proc/self/cgroup\n0::%1$s\n1:cpu:%1$s\n== /proc/self/mountinfo\n%2$s\n",
                                    group, files);
    if (strcmp(limits.quota_group, want) != 0)
        fail_msg("%s of \"%s\": \"%s\", expected \"%s\" (%s)", directory, mounts, limits.quota_group, want,
                 limits.note);
}

TEST(mounts_of_control_groups_are_found)
{
    check_mount("/a", "29 23 0:26 / /g rw shared:4 master:2 - cgroup2 cgroup2 rw", "/g/a", "/a");
    check_mount("/a/b", "29 23 0:26 /a /g\\040h\\134\\011/ rw - cgroup c rw,cpuacct,cpu", "/g h\\\t/b", "/a/b");
    check_mount("/a/b", "29 23 0:26 /a /g rw - cgroup c rw,cpuacct", "/g/b", "");
    /* Escapes that are none stay as they are. */
    check_mount("/", "1 1 0:1 / /g\\9\\x\\4\\ rw - cgroup2 c rw", "/g\\9\\x\\4\\", "/");
    /* "/ab" is not below "/a": what is mounted counts, but not as if it were ours. */
    check_mount("/ab", "29 23 0:26 /a /g rw - cgroup2 c rw", "/g", "/a");
    check_mount("/ab", "29 23 0:26 /a /g rw - cgroup2 c rw", "/gb", "");
    check_mount("/ab", "29 23 0:26 /a /g rw - cgroup2 c rw", "/g/b", "");
}

TEST(the_mount_that_shows_most_ancestors_wins)
{
    static const char three[] = "1 1 0:1 /a/b /narrow rw - cgroup2 c rw\n"
                                "2 1 0:1 /other /beside rw - cgroup2 c rw\n"
                                "3 1 0:1 /a /wide rw - cgroup2 c rw\n"
                                "4 1 0:1 /a /wide-later rw - cgroup2 c rw\n"
                                "5 1 0:1 /a/b/c /narrowest rw - cgroup2 c rw\n"
                                "6 1 0:1 /other /beside-later rw - cgroup2 c rw\n";

    check_mount("/a/b/c/d", three, "/wide-later/b/c", "/a/b/c");
    check_mount("/a/b/c/d", three, "/wide", "");
    check_mount("/a/b/c/d", three, "/narrow/c", "");
    check_mount("/nowhere", three, "/beside-later", "/other");
    check_mount("/nowhere", three, "/beside", "");
}

TEST(broken_mount_lines_are_passed_over)
{
    static const char *const wrong[] = {
        "", "\n", "29", "29 23 0:26", "29 23 0:26 /", "29 23 0:26 / /g", "29 23 0:26 / /g rw",
        "29 23 0:26 / /g rw -", "29 23 0:26 x /g rw - cgroup2 c rw", "29 23 0:26 / g rw - cgroup2 c rw",
        "29 23 0:26 / /g\\000h rw - cgroup c rw,cpuset", "29 23 0:26 / /g rw - cgroup c rw,cpuset",
        "29 23 0:26 / /g rw cgroup2 c rw", "29 23 0:26  /g rw - cgroup2 c rw",
        "29 23 0:26 / /g rw - cgroup3 c rw",
    };

    for (size_t i = 0; i < COUNT(wrong); i++)
        check_mount("/", wrong[i], "/g", "");

    char long_line[2 * ODI_PATH_LIMIT];
    memset(long_line, 'p', sizeof long_line);
    memcpy(long_line, "29 23 0:26 / /", 14);
    strcpy(long_line + sizeof long_line - 21, " rw - cgroup2 c rw");
    odi_limits limits = limits_with("== /proc/self/cgroup\n0::/\n== /proc/self/mountinfo\n%s\n%s", long_line, "");
    assert_int_equal(limits.quota_us, 0);
    /* What is too long for a root is not read on as the point. */
    long_line[12] = 'p';
    long_line[11 + 1023] = '/';
    limits = limits_with("== /proc/self/cgroup\n0::/\n== /proc/self/mountinfo\n%s\n%s", long_line, "");
    assert_string_equal(limits.note, "no control group is visible");
}

TEST(paths_below_a_root_never_climb)
{
    check_mount("/a/b/", "1 1 0:1 /a /g rw - cgroup2 c rw", "/g/b", "/a/b");
    check_mount("/", "1 1 0:1 / /g rw - cgroup2 c rw", "/g", "/");
    check_mount("/../x", "1 1 0:1 /.. /g rw - cgroup2 c rw", "/g/x", "/x");
    check_mount("/../x", "1 1 0:1 / /g rw - cgroup2 c rw", "/g/../x", "");
    check_mount("/a/..", "1 1 0:1 /a /g rw - cgroup2 c rw", "/g/..", "");
}

/* ---- nodes ----------------------------------------------------------------------------- */

static odi_topology *node_with(const char *distances, const char *meminfo)
{
    static char text[1024];
    odi_source source = source_of(text);
    odi_limits limits;

    snprintf(text, sizeof text, "== /proc/self/status\nCpus_allowed_list: 0-3\n"
             "== /sys/devices/system/node/online\n0-1\n"
             "=- /sys/devices/system/node/node0/distance\n%s\n"
             "=- /sys/devices/system/node/node0/meminfo\n%s\n", distances, meminfo);
    odi_limits_read(&source, NULL, &limits);
    odi_topology *topology = odi_topology_discover(&source, &limits, false);
    assert_non_null(topology);
    return topology;
}

static void check_distance(const char *row, int local, int remote)
{
    odi_topology *topology = node_with(row, "");

    if (odi_topology_distance(topology, 0, 0) != local || odi_topology_distance(topology, 0, 1) != remote)
        fail_msg("\"%s\": %d %d", row, odi_topology_distance(topology, 0, 0), odi_topology_distance(topology, 0, 1));
    odi_topology_free(topology);
}

TEST(distance_rows_are_understood)
{
    static const char *const wrong[] = {"", "\n", "x", "11 -1", "11,22", "11 x", "0", "11 0", "11 22 33", "11"};

    check_distance("11 22\n", 11, 22);
    check_distance("11  300 ", 11, 255);
    for (size_t i = 0; i < COUNT(wrong); i++)
        check_distance(wrong[i], 10, 20);
}

static void check_memory(const char *meminfo, uint64_t want)
{
    odi_topology *topology = node_with("", meminfo);

    assert_int_equal(topology->nodes[0].memory_bytes, want);
    odi_topology_free(topology);
}

TEST(node_memory_is_understood)
{
    check_memory("Node 0 MemTotal:       16384 kB\nNode 0 MemFree: 1 kB\n", 16384 * 1024);
    check_memory("\nNode 12 MemTotal: 1 kB", 1024);
    check_memory("Node 0 MemFree: 1 kB\n", 0);
    check_memory("MemTotal:", 0);
    check_memory("", 0);
}

/* ---- settings -------------------------------------------------------------------------- */

static bool parse_integer(const char *text, int *value, char *problem, size_t capacity)
{
    return odi_setting_integer("OVERDRIVE_WORKERS", text, 1, 1024, value, problem, capacity);
}

TEST(settings_are_whole_numbers_in_range)
{
    static const char *const wrong[] = {"", " 4", "4 ", "+4", "0", "1025", "-4", "4.0", "four", "- 4",
                                        "0x4", "18446744073709551617", "-", "4\n", "--4", "-+4"};
    char problem[256], small[10];
    int value = 0;

    assert_true(parse_integer("1", &value, problem, sizeof problem));
    assert_int_equal(value, 1);
    assert_true(parse_integer("0001024", &value, NULL, 0));
    assert_int_equal(value, 1024);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        value = 77;
        if (parse_integer(wrong[i], &value, problem, sizeof problem) || value != 77)
            fail_msg("\"%s\" was taken for a number of workers", wrong[i]);
    }
    assert_true(odi_setting_integer("X", "-5", -5, 0, &value, NULL, 0));
    assert_int_equal(value, -5);
    assert_false(odi_setting_integer("X", "-", -5, 5, &value, NULL, 0));
    assert_false(odi_setting_integer("X", "", -5, 5, &value, NULL, 0));

    assert_false(parse_integer("many\x1b[2J", &value, problem, sizeof problem));
    assert_string_equal(problem, "OVERDRIVE_WORKERS: invalid value (\"many?[2J\"). Choose a whole "
                                 "number from 1 to 1024.");
    assert_false(parse_integer("many", &value, small, sizeof small));
    assert_string_equal(small, "OVERDRIVE");
    assert_false(parse_integer("many", &value, NULL, 0));
}

TEST(settings_are_one_of_some_words)
{
    static const char *const words[] = {"none", "node", "core"};
    char problem[256], many[4096];
    int choice = -1;

    assert_true(odi_setting_choice("P", "core", words, 3, &choice, problem, sizeof problem));
    assert_int_equal(choice, 2);
    assert_false(odi_setting_choice("P", "cores", words, 3, &choice, problem, sizeof problem));
    assert_string_equal(problem, "P: invalid value (\"cores\"). Choose none, node or core.");
    assert_int_equal(choice, 2);
    memset(many, 'a', sizeof many);
    many[sizeof many - 1] = '\0';
    assert_false(odi_setting_choice("P", many, words, 3, &choice, problem, sizeof problem));
    assert_non_null(strstr(problem, "\"...aaa"));
    assert_false(odi_setting_choice("P", "", words, 3, &choice, NULL, 0));
}

TEST(foreign_text_is_shown_by_its_end)
{
    char text[9];

    odi_setting_show("ab\tc\x7f", text, sizeof text);
    assert_string_equal(text, "ab?c?");
    odi_setting_show("12345678", text, sizeof text);
    assert_string_equal(text, "12345678");
    odi_setting_show("123456789", text, sizeof text);
    assert_string_equal(text, "...56789");
}

TEST_PROGRAM
