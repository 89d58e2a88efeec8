/* What recorded machines allow a process, and the sentence that says why. */
#include "Engine/topology_fixtures.h"
#include "Support/machines.h"

#include "topology/limits.h"

#include <errno.h>

typedef struct expectation {
    const char *machine;
    int up, down; /* workers with each rounding */
    bool may_spin;
    const char *note; /* how it begins; NULL: nothing was odd */
    const char *because;
} expectation;

static const expectation expectations[] = {
    {"vm-plain", 2, 2, true, NULL, "affinity 2 -> 2 workers"},
    {"vm-no-cgroups", 4, 4, true, "no control group is visible", "affinity 4 -> 4 workers"},
    {"taskset", 3, 3, true, NULL, "affinity 3 -> 3 workers"},
    {"docker-v1", 2, 1, false, NULL, "affinity 8, quota 1.5 of /docker/4f1c -> 2 workers"},
    {"docker-v1-cpuset", 2, 2, true, NULL, "affinity 2, cpuset 2 of /docker/4f1c -> 2 workers"},
    {"docker-v2", 3, 2, true, NULL, "affinity 8, quota 2.5 of / -> 3 workers"},
    {"docker-v2-host-namespace", 3, 3, true, NULL,
     "affinity 8, quota 3 of /system.slice/docker-4f1c.scope -> 3 workers"},
    {"kubernetes-v2", 4, 3, true, NULL,
     "affinity 16, quota 3.5 of /kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod8e1b.slice -> 4 workers"},
    {"kubernetes-v1", 3, 2, true, NULL, "affinity 16, quota 2.4 of /kubepods/burstable/pod8e1b -> 3 workers"},
    {"systemd-user-slice", 3, 2, true, NULL,
     "affinity 8, quota 2.5 of /user.slice/user-1000.slice/user@1000.service/app.slice/"
     "batch.service -> 3 workers"},
    {"ancestor-tighter", 3, 2, true, NULL, "affinity 8, quota 2.5 of /system.slice/x.slice -> 3 workers"},
    {"deep-nesting", 5, 5, true, NULL, "affinity 8, quota 5 of /level0 -> 5 workers"},
    {"hybrid", 2, 1, false, NULL, "affinity 4, quota 1.75 of /system.slice/x.service -> 2 workers"},
    {"hybrid-both-limit", 2, 2, true, NULL, "affinity 8, cpuset 7 of /a, quota 2 of /b -> 2 workers"},
    {"cpuset-smaller", 4, 4, true, NULL, "affinity 8, cpuset 4 of /system.slice/pinned.service -> 4 workers"},
    {"cpuset-inherited", 4, 4, true, NULL, "affinity 8, cpuset 4 of /part -> 4 workers"},
    {"cpuset-foreign", 2, 2, true, "no CPU is both in the affinity mask and in the cpuset of /a", "affinity 2 -> 2 workers"},
    {"cpuset-malformed", 4, 4, true, "ignored a malformed ", "affinity 4 -> 4 workers"},
    {"quota-max", 4, 4, true, NULL, "affinity 4 -> 4 workers"},
    {"quota-period-zero-v1", 4, 4, true, "ignored a malformed ", "affinity 4 -> 4 workers"},
    {"quota-period-zero-v2", 3, 3, true, "ignored a malformed ", "affinity 4, quota 3 of /a -> 3 workers"},
    {"quota-negative-v2", 4, 4, true, NULL, "affinity 4 -> 4 workers"},
    {"quota-tiny", 1, 1, false, NULL, "affinity 4, quota 0.001 of /a -> 1 worker"},
    {"quota-half", 1, 1, false, NULL, "affinity 4, quota 0.5 of /a -> 1 worker"},
    {"quota-one-and-a-half", 2, 1, false, NULL, "affinity 4, quota 1.5 of /a -> 2 workers"},
    {"quota-huge", 4, 4, true, "ignored a malformed ", "affinity 4 -> 4 workers"},
    {"quota-wider-than-cpus", 4, 4, true, NULL, "affinity 4, quota 64 of /a -> 4 workers"},
    {"quota-no-period-file", 4, 4, true, "ignored a malformed ", "affinity 4 -> 4 workers"},
    {"quota-denied", 2, 2, true, "could not read cpu.max of /a/b", "affinity 4, quota 2 of /a -> 2 workers"},
    {"empty-files", 1, 1, false, "the affinity mask is unknown", "affinity unknown -> 1 worker"},
    {"empty-limits", 4, 4, true, "ignored a malformed ", "affinity 4 -> 4 workers"},
    {"truncated", 1, 1, false, "ignored a malformed list of online CPUs", "affinity unknown -> 1 worker"},
    {"missing-everything", 1, 1, false, "the affinity mask is unknown", "affinity unknown -> 1 worker"},
    {"missing-sysfs", 6, 6, true, "no control group is visible", "affinity 6 -> 6 workers"},
    {"missing-status", 2, 2, true, "the affinity mask is unknown",
     "affinity unknown, online 4, quota 2 of / -> 2 workers"},
    {"escaped-spaces", 1, 1, false, NULL, "affinity 4, quota 1 of /my slice/a\\b/job -> 1 worker"},
    {"namespace-above", 4, 4, true, "group ", "affinity 8, quota 4 of / -> 4 workers"},
    {"namespace-sibling", 3, 3, true, NULL, "affinity 8, quota 3 of /other -> 3 workers"},
    {"namespace-escape", 8, 8, true, "group ", "affinity 8 -> 8 workers"},
    {"mount-outside", 2, 2, true, "group ", "affinity 8, quota 2 of /docker/77aa -> 2 workers"},
    {"mount-twice", 2, 2, true, NULL, "affinity 8, quota 2 of /a -> 2 workers"},
    {"group-deleted", 3, 3, true, NULL, "affinity 8, quota 3 of /a -> 3 workers"},
    {"group-with-colon", 5, 5, true, NULL, "affinity 8, quota 5 of /a:b,c/d -> 5 workers"},
    {"group-with-escapes", 5, 5, true, NULL, "affinity 8, quota 5 of /a?[2Jb -> 5 workers"},
    {"offline-cpus", 4, 4, true, NULL, "affinity 4 -> 4 workers"},
    {"smt-partial", 3, 3, true, NULL, "affinity 3 -> 3 workers"},
    {"four-nodes-ring", 64, 64, true, NULL, "affinity 64 -> 64 workers"},
    {"two-nodes-half", 12, 12, true, NULL, "affinity 12, cpuset 12 of /a -> 12 workers"},
    {"high-cpu-ids", 12, 12, true, NULL, "affinity 12 -> 12 workers"},
    {"cpu-ids-beyond", 2, 2, true, NULL, "affinity 2 -> 2 workers"},
    {"gvisor", 4, 4, true, "no control group is visible", "affinity 4 -> 4 workers"},
};

static bool is_noted(const odi_limits *limits, const char *want)
{
    return want == NULL ? limits->note[0] == '\0'
                        : strncmp(limits->note, want, strlen(want)) == 0;
}

TEST(recorded_machines_give_what_the_table_says)
{
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const expectation *want = &expectations[i];
        char *recording = fixture_load(want->machine);
        odi_source source = source_of(recording);
        odi_limits limits;
        char because[512];

        odi_limits_read(&source, NULL, &limits);
        odi_worker_advice up = odi_limits_workers(&limits, false, 0);
        odi_worker_advice down = odi_limits_workers(&limits, true, 0);
        size_t length =
            odi_limits_describe(&limits, false, 0, because, sizeof because);

        if (up.workers != want->up || down.workers != want->down ||
            up.may_spin != want->may_spin || !is_noted(&limits, want->note) ||
            strcmp(because, want->because) != 0)
            fail_msg("%s: %d/%d workers, may spin %d, odd: \"%s\": %s", want->machine, up.workers,
                     down.workers, up.may_spin, limits.note, because);
        assert_int_equal(length, strlen(because));
        free(recording);
    }
}

/* The same through real files: what a recording implies, a directory must too. */
TEST(a_directory_gives_the_same_as_a_recording)
{
    char root[] = "/tmp/odi-limits-XXXXXX";
    char command[4096], because[256];
    odi_limits limits;

    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p proc/self sys/fs/cgroup/a/b sys/devices/system/cpu && "
             "echo 0::/a/b > proc/self/cgroup && "
             "echo '29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw' > proc/self/mountinfo && "
             "printf 'Name:\\tx\\nCpus_allowed_list:\\t0-7\\n' > proc/self/status && "
             "echo 0-7 > sys/devices/system/cpu/online && "
             "echo 250000 100000 > sys/fs/cgroup/a/cpu.max && "
             "echo max 100000 > sys/fs/cgroup/a/b/cpu.max", root);
    assert_int_equal(system(command), 0);

    odi_source source = odi_source_at(root);
    odi_limits_read(&source, NULL, &limits);
    odi_limits_describe(&limits, false, 0, because, sizeof because);
    assert_string_equal(because, "affinity 8, quota 2.5 of /a -> 3 workers");

    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

TEST(a_request_is_taken_as_it_is_and_explained)
{
    char *recording = fixture_load("ancestor-tighter");
    odi_source source = source_of(recording);
    odi_limits limits;
    char because[256], small[12];

    odi_limits_read(&source, NULL, &limits);
    odi_worker_advice advice = odi_limits_workers(&limits, false, 20);
    assert_int_equal(advice.workers, 20);

    odi_limits_describe(&limits, false, 20, because, sizeof because);
    assert_string_equal(because, "affinity 8, quota 2.5 of /system.slice/x.slice, requested 20 -> 20 workers");
    assert_int_equal(odi_limits_describe(&limits, false, 0, small, sizeof small), 11);
    assert_string_equal(small, "affinity 8,");
    assert_int_equal(odi_limits_describe(&limits, false, 0, small, 0), 0);
    free(recording);
}

/* A job of a batch system that does not bind its CPUs keeps to what it was given. */
TEST(what_slurm_gives_is_a_limit)
{
    static const struct {
        const char *job, *task, *node;
        int granted;
    } cases[] = {
        {"7", "3", "8", 3},     {"7", NULL, "8", 8}, {NULL, "3", "8", 0}, {"7", NULL, NULL, 0},
        {"7", "x", "8", 8},     {"7", "0", NULL, 0}, {"7", "-1", "2(x3)", 0},
        {"7", "99999999999", NULL, 0}, {"7", "04", NULL, 4}, {"7", "9", NULL, 9}, {"7", "+3", "8", 8},
    };
    static const char *const names[] = {"SLURM_JOB_ID", "SLURM_CPUS_PER_TASK",
                                        "SLURM_CPUS_ON_NODE"};
    char because[256];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *values[] = {cases[i].job, cases[i].task, cases[i].node};

        for (int name = 0; name < 3; name++)
            values[name] != NULL ? setenv(names[name], values[name], 1) : unsetenv(names[name]);
        assert_int_equal(odi_source_live().granted, cases[i].granted);
    }
    for (int name = 0; name < 3; name++)
        unsetenv(names[name]);

    char *recording = fixture_load("kubernetes-v2");
    odi_source source = source_of(recording);
    odi_limits limits;

    source.granted = 3;
    odi_limits_read(&source, NULL, &limits);
    odi_worker_advice advice = odi_limits_workers(&limits, false, 0);
    assert_int_equal(advice.workers, 3);
    assert_true(advice.may_spin);
    odi_limits_describe(&limits, false, 0, because, sizeof because);
    assert_non_null(strstr(because, ", Slurm's 3 -> 3 workers"));
    source.granted = 1;
    odi_limits_read(&source, NULL, &limits);
    assert_false(odi_limits_workers(&limits, false, 0).may_spin);
    source.granted = 100; /* more than there is */
    odi_limits_read(&source, NULL, &limits);
    assert_int_equal(odi_limits_workers(&limits, false, 0).workers, 4);
    assert_int_equal(odi_limits_workers(&limits, false, 9).workers, 9);
    free(recording);
}

TEST(two_readings_are_equal_until_something_changes)
{
    char *recording = fixture_load("docker-v2");
    odi_source source = source_of(recording);
    odi_limits first, second;

    odi_limits_read(&source, NULL, &first);
    odi_limits_read(&source, NULL, &second);
    assert_true(odi_limits_equal(&first, &second));
    second.quota_us++;
    assert_false(odi_limits_equal(&first, &second));
    second.quota_us--;
    second.period_us++;
    assert_false(odi_limits_equal(&first, &second));
    limits_of(&first.cpus, &second);
    assert_false(odi_limits_equal(&first, &second));
    assert_int_equal(second.cpu_count, 8);
    free(recording);
}

/* ---- hostile and unusual sources ------------------------------------------------------- */

/* Every file is one megabyte of the bytes that `context` points at, repeated. */
static FILE *open_garbage(const odi_source *source, const char *path)
{
    enum { WHOLE = 1 << 20 };
    static char text[WHOLE];
    const char *pattern = source->context;
    size_t period = strlen(pattern);

    for (size_t i = 0; i < WHOLE; i++)
        text[i] = pattern[i % period];
    return fmemopen(text, WHOLE, "r");
}

TEST(megabytes_of_garbage_leave_one_worker_or_what_the_kernel_allows)
{
    static const char *const patterns[] = {
        "\xff", "0", "9", "0::/a/", "0::/a\n", "/", "-1 ", "max ", "0-8191,", "1:cpu:/\n",
        "29 23 0:26 / /sys rw - cgroup2 cgroup2 rw\n", "a b c /\\057\\0 /\\ d - cgroup c cpu\n",
        "Cpus_allowed_list:\t0-9999999\n", " - ", "\n", ":", "==",
    };

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        odi_source source = {.open = open_garbage, .root = "", .context = patterns[i]};
        odi_limits limits;
        char because[512];

        odi_limits_read(&source, NULL, &limits);
        assert_in_range(limits.cpu_count, 1, ODI_CPU_LIMIT);
        assert_in_range(odi_limits_workers(&limits, false, 0).workers, 1, ODI_CPU_LIMIT);
        odi_limits_describe(&limits, false, 0, because, sizeof because);
    }
}

static FILE *open_nothing(const odi_source *source, const char *path)
{
    errno = *(const int *)source->context;
    return NULL;
}

static int five_cpus(const odi_source *source, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    for (int i = 0; i < 5; i++)
        odi_cpu_mask_add(mask, 100 * i);
    return 0;
}

TEST(with_no_descriptor_left_affinity_still_decides)
{
    static const int errors[] = {ENOENT, EACCES, EMFILE, ENOMEM};

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        odi_source source = {.open = open_nothing, .affinity = five_cpus, .root = "",
                             .context = &errors[i]};
        odi_limits limits;

        odi_limits_read(&source, NULL, &limits);
        assert_int_equal(limits.cpu_count, 5);
        assert_int_equal(limits.affinity_count, 5);
        assert_true(odi_cpu_mask_has(&limits.cpus, 400));
    }
}

static int no_cpus(const odi_source *source, odi_cpu_mask *mask)
{
    odi_cpu_mask_clear(mask);
    return EPERM;
}

TEST(a_refused_affinity_call_falls_back_to_files)
{
    char *recording = fixture_load("taskset");
    odi_source source = source_of(recording);
    odi_limits limits;

    source.affinity = no_cpus;
    odi_limits_read(&source, NULL, &limits);
    assert_int_equal(limits.affinity_count, 3);
    free(recording);
}

TEST(thousands_of_mounts_do_not_hide_the_group)
{
    enum { LINES = 3000 };
    static const char line[] = "99 27 0:77 / /var/lib/containers/overlay/merged rw,relatime "
                               "shared:99 - overlay overlay rw,lowerdir=/l,upperdir=/u\n";
    static const char rest[] = "29 23 0:26 / /g rw - cgroup2 cgroup2 rw\n"
                               "== /proc/self/cgroup\n0::/x\n"
                               "== /proc/self/status\nCpus_allowed_list: 0-3\n"
                               "== /g/x/cpu.max\n100000 100000\n";
    char *text = malloc(sizeof line * LINES + sizeof rest + 64);
    char *end = text + sprintf(text, "== /proc/self/mountinfo\n");
    odi_limits limits;

    for (int i = 0; i < LINES; i++)
        end = stpcpy(end, line);
    stpcpy(end, rest);

    odi_source source = source_of(text);
    odi_limits_read(&source, NULL, &limits);
    assert_int_equal(limits.quota_us, 100000);
    free(text);
}

static int looks_at_mounts;

static FILE *open_counting(const odi_source *source, const char *path)
{
    looks_at_mounts += strcmp(path, "/proc/self/mountinfo") == 0;
    return open_recorded(source, path);
}

/* What `rest` of the files says to a process in `group`, and how often the mounts have been looked at by then. */
typedef struct {
    const char *group, *rest;
    int64_t quota;
    int looks;
    const char *note;
} reading;

static void follow(const reading *readings, size_t count)
{
    odi_cgroups *kept = NULL;

    looks_at_mounts = 0;
    for (size_t i = 0; i < count; i++) {
        char text[512];
        odi_source source = {.open = open_counting, .root = "", .context = text};
        odi_limits limits;

        snprintf(text, sizeof text, "== /proc/self/status\nCpus_allowed_list: 0-3\n== /proc/self/cgroup\n%s\n%s", readings[i].group,
                 readings[i].rest);
        odi_limits_read(&source, &kept, &limits);
        assert_int_equal(limits.quota_us, readings[i].quota);
        assert_int_equal(looks_at_mounts, readings[i].looks);
        assert_string_equal(limits.note, readings[i].note);
    }
    free(kept);
}

TEST(who_follows_the_limits_looks_at_mounts_only_when_its_group_has_changed)
{
#define MOUNT "== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n"
    static const reading readings[] = {
        {"0::/a", MOUNT "== /g/a/cpu.max\n100000 1\n", 100000, 1, ""},
        {"0::/a", MOUNT "== /g/a/cpu.max\n200000 1\n", 200000, 1, ""},
        {"0::/a", MOUNT "== /g/cpu.max\n5 1\n", 5, 1, ""},
        {"0::/a/b", MOUNT "== /g/a/b/cpu.max\n300000 1\n", 300000, 2, ""},
        {"0::/a", MOUNT "== /g/a/b/cpu.max\n300000 1\n", 0, 3, ""},
    };
#undef MOUNT

    follow(readings, sizeof readings / sizeof readings[0]);
}

/* What a mount said once was believed for as long as the group had its name. */
TEST(who_follows_the_limits_finds_a_group_again_whose_mount_has_come_gone_or_moved)
{
#define AT(point) "== /proc/self/mountinfo\n1 1 0:1 / " point " rw - cgroup2 c rw\n== " point "/a/cpu.max\n"
#define UNIFIED "== /proc/self/mountinfo\n2 1 0:2 / /u rw - cgroup2 c rw\n"
#define V1_AT(point) "1 1 0:1 / " point " rw - cgroup c cpu\n== " point "/a/cpu.cfs_quota_us\n7\n== " point "/a/cpu.cfs_period_us\n1\n"
    static const reading readings[] = {
        {"0::/a", "", 0, 1, "no control group is visible"},
        {"0::/a", AT("/g") "100000 1\n", 100000, 2, ""},
        {"0::/a", AT("/g") "200000 1\n", 200000, 2, ""},
        {"0::/a", AT("/h") "3 1\n", 0, 2, ""},
        {"0::/a", AT("/h") "3 1\n", 3, 3, ""},
        {"0::/a", "", 0, 3, ""},
        {"0::/a", "", 0, 4, "no control group is visible"},
        {"1:cpu:/a", "== /proc/self/mountinfo\n1 1 0:1 / /c rw - cgroup c cpu\n== /c/a/cpu.cfs_quota_us\n5\n"
                     "== /c/a/cpu.cfs_period_us\n1\n", 5, 5, ""},
        {"0::/a", AT("/g") "6 1\n", 0, 5, ""}, /* the controller has gone there */
        {"0::/a", AT("/g") "6 1\n", 6, 6, ""},
        {"1:cpu:/a\n0::/", UNIFIED V1_AT("/c"), 7, 7, ""},
        {"1:cpu:/a\n0::/", UNIFIED, 0, 7, ""},
        {"1:cpu:/a\n0::/", UNIFIED, 0, 8, ""}, /* what stays mounted has no quota: that is not where it was */
        {"1:cpu:/a\n0::/", UNIFIED V1_AT("/d"), 7, 9, ""},
        {"1:cpu:/a\n0::/", UNIFIED V1_AT("/d"), 7, 9, ""},
    };
#undef AT
#undef V1_AT
#undef UNIFIED

    follow(readings, sizeof readings / sizeof readings[0]);
}

/* A process that has moved into a group whose path is too long to be looked for. */
TEST(a_group_with_too_long_a_path_is_out_of_sight_and_so_is_the_one_before)
{
    static const size_t lengths[] = {2, 1023, 1024, 4095};
    char path[4096], text[3 * sizeof path];
    odi_cgroups *kept = NULL;
    odi_limits limits;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        bool in_sight = lengths[i] < 1024;

        memset(path, 'n', lengths[i]);
        path[0] = '/';
        path[lengths[i]] = '\0';
        snprintf(text, sizeof text, "== /proc/self/cgroup\n0::%1$s\n== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n"
                                    "== /proc/self/status\nCpus_allowed_list: 0-3\n== /g%1$s/cpu.max\n4 1\n", path);
        odi_source source = source_of(text);
        odi_limits_read(&source, &kept, &limits);
        assert_int_equal(limits.quota_us, in_sight ? 4 : 0);
        assert_string_equal(limits.note, in_sight ? "" : "no control group is visible");
    }
    free(kept);
}

static int two_of_four(const odi_source *source, odi_cpu_mask *mask)
{
    return odi_cpu_mask_parse("0-1", mask) ? 0 : EINVAL;
}

/* The kernel keeps the mask within the cpuset: it is read for a report, or where the mask is not to be had. */
TEST(who_follows_the_limits_reads_no_cpuset_that_the_mask_has_in_it)
{
    odi_source source = source_of("== /proc/self/cgroup\n0::/a\n"
                                  "== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n"
                                  "== /g/a/cpuset.cpus.effective\n0\n"
                                  "== /sys/devices/system/cpu/online\n0-3\n"
                                  "== /proc/self/status\nCpus_allowed_list: 0-3\n");
    odi_cgroups *kept = NULL;
    odi_limits limits;

    odi_limits_read(&source, &kept, &limits);
    assert_int_equal(limits.cpu_count, 1);
    source.affinity = two_of_four;
    odi_limits_read(&source, &kept, &limits);
    assert_int_equal(limits.cpu_count, 2);
    assert_int_equal(limits.cpuset_count, 0);
    odi_limits_read(&source, NULL, &limits);
    assert_int_equal(limits.cpu_count, 1);
    assert_int_equal(limits.cpuset_count, 1);
    assert_int_equal(limits.online_count, 4);
    free(kept);

    char because[128];
    odi_source alone = source_of("== /proc/self/cgroup\n0::/a\n== /proc/self/mountinfo\n1 1 0:1 / /g rw - cgroup2 c rw\n"
                                 "== /g/a/cpuset.cpus.effective\n0\n");
    odi_limits_read(&alone, NULL, &limits); /* nothing else is known */
    odi_limits_describe(&limits, false, 0, because, sizeof because);
    assert_string_equal(because, "affinity unknown, cpuset 1 of /a -> 1 worker");
}

TEST(long_group_names_keep_their_end)
{
    char text[8192], name[1000];
    odi_limits limits;

    memset(name, 'n', sizeof name);
    memcpy(name, "/", 1);
    strcpy(name + sizeof name - 6, "/leaf");
    snprintf(text, sizeof text,
             "== /proc/self/cgroup\n0::%s\n"
             "== /proc/self/mountinfo\n29 23 0:26 / /g rw - cgroup2 cgroup2 rw\n"
             "== /proc/self/status\nCpus_allowed_list: 0-3\n"
             "== /g%s/cpu.max\n100000 100000\n", name, name);

    odi_source source = source_of(text);
    odi_limits_read(&source, NULL, &limits);
    assert_int_equal(limits.quota_us, 100000);
    assert_int_equal(strlen(limits.quota_group), ODI_GROUP_TEXT - 1);
    assert_memory_equal(limits.quota_group, "...n", 4);
    assert_string_equal(limits.quota_group + ODI_GROUP_TEXT - 6, "/leaf");
}

/* In a group of version 2 whose path has as many bytes as `context` says. */
static FILE *open_long_group(const odi_source *source, const char *path)
{
    static char text[2 * ODI_PATH_LIMIT];
    size_t bytes = *(const size_t *)source->context;

    errno = ENOENT;
    if (strcmp(path, "/proc/self/cgroup") != 0)
        return NULL;
    memcpy(text, "0::/", 4);
    memset(text + 4, 'x', bytes - 1);
    text[bytes + 3] = '\n';
    return fmemopen(text, bytes + 4, "r");
}

TEST(a_group_whose_path_does_not_fit_is_none)
{
    enum { LONGEST = 1024 };

    for (size_t bytes = LONGEST - 1; bytes < LONGEST + 2; bytes++) {
        odi_source source = {.open = open_long_group, .affinity = five_cpus, .root = "",
                             .context = &bytes};
        odi_limits limits;

        odi_limits_read(&source, NULL, &limits);
        assert_int_equal(limits.cpu_count, 5);
    }
}

TEST_PROGRAM
