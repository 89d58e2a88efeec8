/* The public picture of a machine. */
#include "Engine/topology_fixtures.h"
#include "Support/machines.h"

#include "include/od_machine.h"
#include "topology/limits.h"
#include "topology/topology.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The machine of a directory that has the recorded files. */
static const od_machine *discover(const char *fixture)
{
    char root[] = "/tmp/odi-machine-XXXXXX", command[64], problem[256];
    char *recording = fixture_load(fixture);

    assert_non_null(mkdtemp(root));
    assert_true(unpack(recording, root));
    free(recording);
    const od_machine *machine = od_machine_discover(root, problem, sizeof problem);
    if (machine == NULL)
        fail_msg("%s", problem);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    return machine;
}

TEST(a_recorded_machine_answers_every_question)
{
    const od_machine *machine = discover("memory-only-node");
    char text[128];

    assert_false(machine->live);
    assert_true(machine->may_spin);
    assert_int_equal(machine->cpu_count, 8);
    assert_int_equal(machine->core_count, 8);
    assert_int_equal(machine->node_count, 4);
    od_machine_cpu cpu = machine->cpus[5];
    assert_int_equal(cpu.id, 5);
    assert_int_equal(cpu.node, 1);
    assert_int_equal(cpu.core, 5);
    assert_int_equal(cpu.thread, 0);
    assert_int_equal(cpu.package, 1);
    assert_int_equal(cpu.l3, 1);

    od_machine_node node = machine->nodes[2];
    assert_int_equal(node.id, 4);
    assert_int_equal(node.cpu_count, 0);
    assert_int_equal(node.core_count, 0);
    assert_int_equal(node.memory_bytes, UINT64_C(16) << 30);
    assert_true(node.whole);
    assert_int_equal(machine->nodes[1].cpu_first, 4);
    assert_int_equal(machine->nodes[1].cpu_count, 4);
    assert_int_equal(machine->distances[0 * 4 + 3], 80);
    assert_int_equal(machine->distances[3 * 4 + 3], 10);

    assert_int_equal(od_machine_worker_count(machine, false), 8);
    assert_int_equal(od_machine_describe(machine, false, 0, text, sizeof text), 23);
    assert_string_equal(text, "affinity 8 -> 8 workers");
    od_machine_free(machine);
    od_machine_free(NULL);
}

TEST(limits_come_with_their_groups)
{
    const od_machine *machine = discover("hybrid-both-limit");
    od_machine_limits limits = machine->limits;
    char text[128];

    assert_int_equal(limits.online_count, 8);
    assert_int_equal(limits.affinity_count, 8);
    assert_int_equal(limits.cpuset_count, 7);
    assert_int_equal(limits.cpu_count, 6);
    assert_int_equal(limits.quota_us, 200000);
    assert_int_equal(limits.period_us, 100000);
    assert_string_equal(limits.quota_group, "/b");
    assert_string_equal(limits.cpuset_group, "/a");
    assert_string_equal(limits.note, "");
    od_machine_free(machine);

    machine = discover("quota-half");
    assert_false(machine->may_spin);
    assert_int_equal(od_machine_worker_count(machine, true), 1);
    od_machine_free(machine);

    machine = discover("quota-one-and-a-half");
    assert_int_equal(od_machine_worker_count(machine, false), 2);
    assert_int_equal(od_machine_worker_count(machine, true), 1);
    od_machine_describe(machine, true, 0, text, sizeof text);
    assert_string_equal(text, "affinity 4, quota 1.5 of /a -> 1 worker");
    od_machine_describe(machine, false, 20, text, sizeof text);
    assert_string_equal(text, "affinity 4, quota 1.5 of /a, requested 20 -> 20 workers");
    od_machine_free(machine);
}

TEST(a_root_that_tells_nothing_is_a_plain_machine)
{
    const od_machine *machine = discover("missing-everything");

    assert_int_equal(machine->cpu_count, 1);
    assert_int_equal(machine->node_count, 1);
    assert_int_equal(od_machine_worker_count(machine, false), 1);
    od_machine_free(machine);
}

TEST(plans_can_be_looked_at)
{
    const od_machine *machine = discover("two-nodes-smt");
    int32_t nodes[16], cpus[16];
    char reason[256];

    assert_true(od_machine_plan(machine, "core", 16, nodes, cpus, reason, sizeof reason));
    assert_string_equal(reason, "core: placement was requested");
    assert_int_equal(nodes[7], 0);
    assert_int_equal(nodes[8], 1);
    assert_int_equal(cpus[0], 0);
    assert_int_equal(cpus[4], 8);
    assert_true(od_machine_plan(machine, "automatic", 16, NULL, NULL, reason, sizeof reason));
    assert_memory_equal(reason, "node: ", 6);
    assert_false(od_machine_plan(machine, "corn", 16, NULL, NULL, reason, sizeof reason));
    assert_string_equal(reason, "placement: invalid value (\"corn\"). Choose none, node, core or automatic.");
    assert_false(od_machine_plan(machine, "core", 0, NULL, NULL, reason, sizeof reason));
    assert_string_equal(reason, "0 workers were asked for, but 1 to 65536 can be planned");
    assert_true(od_machine_plan(machine, "core", 65536, NULL, NULL, NULL, 0));
    assert_false(od_machine_plan(machine, "core", 65537, NULL, NULL, NULL, 0));
    od_machine_free(machine);
}

static void check_refusal(const char *path, const char *want)
{
    char problem[256] = "";

    assert_null(od_machine_discover(path, problem, sizeof problem));
    assert_null(od_machine_discover(path, NULL, 0));
    assert_null(od_machine_discover(path, NULL, sizeof problem)); /* nowhere to say it, whatever the room */
    if (strstr(problem, want) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", problem, want);
}

static int lowest_free_descriptor(void)
{
    int lowest = dup(STDERR_FILENO);

    close(lowest);
    return lowest;
}

TEST(a_machine_that_was_read_keeps_no_file_open)
{
    int before = lowest_free_descriptor();
    const od_machine *machine = discover("two-nodes-smt");

    assert_int_equal(lowest_free_descriptor(), before);
    od_machine_free(machine);
}

TEST(roots_that_hold_no_machine_are_refused_in_one_sentence)
{
    char path[] = "/tmp/odi-machine-XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    close(file);
    check_refusal(path, "is not a readable directory");
    unlink(path);
    check_refusal(path, "is not a readable directory");
    check_refusal("/dev/null/x", "is not a readable directory");
}

TEST(this_machine_is_the_default)
{
    const od_machine *machine = od_machine_discover(NULL, NULL, 0);
    const od_machine *again = od_machine_discover("", NULL, 0);

    assert_non_null(machine);
    assert_non_null(again);
    assert_true(machine->live && again->live);
    assert_int_equal(machine->cpu_count, again->cpu_count);
    od_machine_free(machine);
    od_machine_free(again);

    machine = od_machine_discover("/", NULL, 0);
    assert_non_null(machine);
    assert_false(machine->live);
    od_machine_free(machine);
}

/* ---- the tests' own recordings --------------------------------------------------------- */

static const char *content_of(const char *recording, const char *path, char *text, size_t capacity)
{
    odi_source source = source_of(recording);
    int status = odi_source_read(&source, path, text, capacity);

    return status == 0 ? text : status == ENOENT ? "absent" : status == EACCES ? "denied" : "cut";
}

TEST(recordings_behave_like_directories)
{
    static const char recording[] = "comment\n"
                                    "== /a/b\none\ntwo\n"
                                    "=- /a/c\nthree\n"
                                    "=! /a/d\nhidden\n"
                                    "== /a/b\nlate\n"
                                    "== /a/b-x/f\n"
                                    "== /a/g\nx";
    char root[] = "/tmp/odi-machine-XXXXXX", command[64], text[32];

    assert_string_equal(content_of(recording, "/a/b", text, 32), "one\ntwo\n");
    assert_string_equal(content_of(recording, "/a/b", text, 3), "cut");
    assert_string_equal(content_of(recording, "/a/c", text, 32), "three");
    assert_string_equal(content_of(recording, "/a/d", text, 32), "denied");
    assert_string_equal(content_of(recording, "/a", text, 32), "absent");
    assert_string_equal(content_of(recording, "/z", text, 32), "absent");
    assert_string_equal(content_of(recording, "/a/b-x/f", text, 32), "");
    assert_string_equal(content_of(recording, "/a/g", text, 32), "x");

    assert_non_null(mkdtemp(root));
    assert_true(unpack(recording, root));
    odi_source source = odi_source_at(root);
    assert_int_equal(odi_source_read(&source, "/a/b", text, sizeof text), 0);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(odi_source_read(&source, "/a/b-x/f", text, sizeof text), 0);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 1
#endif
#endif

#ifndef OWN_ALLOCATOR
#ifdef EMULATED
/* The emulator answers a limit on memory with success and gives the kernel none, because it would be
 * the emulator's own: there this program's heap refuses. */
static bool heap_refuses;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size) { return heap_refuses ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return heap_refuses ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return heap_refuses ? NULL : __libc_realloc(old, size); }
static void refuse_memory(void) { heap_refuses = true; }
#else
/* No page more: every allocation beyond what the heap has in stock fails. */
static void refuse_memory(void)
{
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_DATA, &none);
}
#endif

/* More than any heap has in stock: where a limit is none, the test is to fail and not to take the
 * machine's memory. */
enum { PIECE = 16 * 1024, MOST_PIECES = 1 << 14 };

static int discover_without_memory(void)
{
    odi_source source = odi_source_live();
    odi_limits limits;
    char problem[128] = "";
    const od_machine *here = od_machine_discover(NULL, problem, sizeof problem);

    refuse_memory();
    for (int pieces = 0; malloc(PIECE) != NULL; pieces++) {
        if (pieces == MOST_PIECES)
            return 5;
    }
    odi_limits_read(&source, NULL, &limits);
    if (limits.note[0] == '\0' || limits.cpu_count < 1 || limits.affinity_count < 1)
        return 1;
    if (machine_of(64, 64, 1) != NULL)
        return 2;
    if (od_machine_discover(NULL, problem, sizeof problem) != NULL)
        return 3;
    if (strcmp(problem, "this machine does not fit in memory") != 0)
        return 4;
    if (od_machine_plan(here, "core", 4096, NULL, NULL, problem, sizeof problem))
        return 6;
    return strcmp(problem, "no memory for a plan of 4096 workers") == 0 ? 0 : 7;
}

TEST(without_memory_affinity_still_counts)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(discover_without_memory());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

TEST_PROGRAM
