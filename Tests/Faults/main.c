/* main.c — runs the matrix: every run in a process of its own, behind a watchdog, several at
 * a time; tells cell by cell what came of it, and how to repeat what failed. */
#include "Faults/one_run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 16, MOST_FAULTS = 64, SAID = 4096, REASON = 240 };

typedef enum { PASSED, FAILED, SKIPPED_RUN } verdict;

static struct {
    int runs, at_once;
    uint64_t seed;
    const char *only_fault, *only_workload, *resume;
    bool keep_hung, fresh;
    FILE *results;
    char self[4096];
} options = {.runs = 2, .at_once = 2, .seed = 1};

typedef struct {
    int passed, failed, skipped;
    int failed_earlier; /* of the failed: the results file says so, and no later run takes it back */
    unsigned long long struck;
    int64_t longest_ns;
    char reason[REASON];
} cell;

static cell cells[MOST_FAULTS][WORKLOADS];
static unsigned char *done; /* [fault][workload][run], from the results file */

/* ---- a slot: one process under way ---- */

typedef struct {
    pid_t pid; /* 0: free */
    int fault, workload, number;
    int output;
    int64_t began;
    size_t length;
    char said[SAID];
} slot;

static slot slots[MOST_AT_ONCE];

static uint64_t seed_of(int fault, int workload, int number)
{
    return odi_rng_seed(options.seed * 1000003 + (uint64_t)(fault * 8 + workload) * 4099 +
                        (uint64_t)number);
}

static int run_limit(const fault *which)
{
    return which->slow && options.runs <= 2 ? 1 : options.runs;
}

static _Noreturn void become(const slot *it, int output)
{
    const fault *which = &faults[it->fault];
    char number[16], seed[32];
    const char *words[24];
    int count = 0;

    setpgid(0, 0);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (which->under_strace) {
        static const char *const strace[] = {
            "strace", "-f", "-qqq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=clone3",
            "-e", "inject=clone3:error=EAGAIN:when=4+", "--"};

        for (size_t i = 0; i < sizeof strace / sizeof strace[0]; i++)
            words[count++] = strace[i];
    }
    snprintf(number, sizeof number, "%d", it->number);
    snprintf(seed, sizeof seed, "%llu",
             (unsigned long long)seed_of(it->fault, it->workload, it->number));
    words[count++] = options.self;
    words[count++] = "--again";
    words[count++] = which->name;
    words[count++] = workloads[it->workload].name;
    words[count++] = number;
    words[count++] = seed;
    words[count] = NULL;
    if (which->before_exec != NULL)
        which->before_exec(it->number, getpid());
    execvp(words[0], (char *const *)(uintptr_t)words);
    run_skips("%s cannot be started: %s", words[0], strerror(errno));
}

static void start(slot *it, int fault, int workload, int number)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("faults: pipe");
        exit(2);
    }
    *it = (slot){.fault = fault, .workload = workload, .number = number,
                 .output = ends[0], .began = odi_clock_now()};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(it, ends[1]);
    if (pid < 0) {
        perror("faults: fork");
        exit(2);
    }
    it->pid = pid;
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void listen_to(slot *it)
{
    char rest[512];
    ssize_t got;

    do {
        bool full = it->length >= SAID - 1;
        got = full ? read(it->output, rest, sizeof rest)
                   : read(it->output, it->said + it->length, SAID - 1 - it->length);
        if (got > 0 && !full)
            it->length += (size_t)got;
    } while (got > 0);
    it->said[it->length] = '\0';
}

/* ---- judging ---- */

/* The last line that begins like a verdict, or the last line at all. */
static const char *last_words(char *said)
{
    const char *last = "said nothing";

    for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n"))
        last = line;
    return last;
}

static verdict judge(slot *it, int status, bool hung, char *reason)
{
    const fault *which = &faults[it->fault];
    const char *says = which->says != NULL ? which->says : "";
    bool said_it = strstr(it->said, says) != NULL ||
                   (which->or_says != NULL && strstr(it->said, which->or_says) != NULL);

    if (hung) {
        snprintf(reason, REASON, "hung: no end after %d s; %.120s", WATCHDOG_S,
                 last_words(it->said));
        return FAILED;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        snprintf(reason, REASON, "%.200s", last_words(it->said));
        return SKIPPED_RUN;
    }
    if (which->ends == COMPLETES && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PASSED;
    if (which->ends == TRAPS && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && said_it)
        return PASSED;
    if (which->ends == OVERFLOWS && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV &&
        strcmp(it->said, says) == 0)
        return PASSED;
    if (WIFSIGNALED(status))
        snprintf(reason, REASON, "crashed by signal %d; %.160s", WTERMSIG(status),
                 last_words(it->said));
    else
        snprintf(reason, REASON, "%.220s", last_words(it->said));
    return FAILED;
}

/* How often the fault struck, as a run that has passed says. What ends a run has struck it. */
static unsigned long long strikes_of(const slot *it)
{
    const char *word = strstr(it->said, "passed: struck ");
    unsigned long long times = 0;

    if (faults[it->fault].ends != COMPLETES)
        return 1;
    return word != NULL && sscanf(word, "passed: struck %llu", &times) == 1 ? times : 0;
}

static void finish(slot *it, int status, bool hung)
{
    char reason[REASON] = "";
    unsigned long long struck = 0;
    cell *sum = &cells[it->fault][it->workload];
    int64_t took = odi_clock_now() - it->began;

    listen_to(it);
    close(it->output);
    cgroup_remove_all(it->pid);
    verdict what = judge(it, status, hung, reason);
    if (what == PASSED)
        struck = strikes_of(it);
    sum->struck += struck;
    sum->passed += what == PASSED;
    sum->failed += what == FAILED;
    sum->skipped += what == SKIPPED_RUN;
    if (took > sum->longest_ns)
        sum->longest_ns = took;
    if (reason[0] != '\0' && (what == FAILED || sum->reason[0] == '\0'))
        snprintf(sum->reason, sizeof sum->reason, "%s", reason);
    if (what == FAILED)
        fprintf(stderr, "%s/%s run %d: %s\n    to repeat: %s --again %s %s %d %llu\n",
                faults[it->fault].name, workloads[it->workload].name, it->number, reason,
                options.self, faults[it->fault].name, workloads[it->workload].name,
                it->number,
                (unsigned long long)seed_of(it->fault, it->workload, it->number));
    if (options.results != NULL) {
        static const char *const words[] = {"passed", "failed", "skipped"};

        fprintf(options.results, "%s %s %d %s %lld %llu %s\n", faults[it->fault].name,
                workloads[it->workload].name, it->number, words[what],
                (long long)(took / ODI_MILLISECOND), struck, reason);
        fflush(options.results);
    }
    it->pid = 0;
}

static void kill_hung(slot *it)
{
    int status;

    if (options.keep_hung) {
        listen_to(it);
        fprintf(stderr, "%s/%s run %d hangs: process %d is left as it is\n%s",
                faults[it->fault].name, workloads[it->workload].name, it->number,
                (int)it->pid, it->said);
        exit(1);
    }
    kill(-it->pid, SIGKILL);
    cgroup_thaw(it->pid); /* the frozen do not die */
    waitpid(it->pid, &status, 0);
    finish(it, status, true);
}

/* Waits for a free slot (or, with `all`, until every slot is free). */
static slot *await_slot(bool all)
{
    for (;;) {
        int busy = 0;
        slot *open = NULL;

        for (int i = 0; i < options.at_once; i++) {
            slot *it = &slots[i];
            int status;

            if (it->pid > 0) {
                listen_to(it);
                if (waitpid(it->pid, &status, WNOHANG) == it->pid)
                    finish(it, status, false);
                else if (odi_clock_now() - it->began > WATCHDOG_S * ODI_SECOND)
                    kill_hung(it);
            }
            if (it->pid > 0)
                busy++;
            else if (open == NULL)
                open = it;
        }
        if (all ? busy == 0 : open != NULL)
            return open;
        odi_clock_sleep(2 * ODI_MILLISECOND);
    }
}

/* ---- the results file: one line per run ----
 *
 * A run that passed is done, and one that was skipped is tried again. One that failed is done and
 * counts for good: what failed once and not again is no less of a failure. */

static size_t run_index(int fault, int workload, int number)
{
    return ((size_t)fault * WORKLOADS + (size_t)workload) * (size_t)options.runs +
           (size_t)number;
}

static int fault_named(const char *name)
{
    for (int i = 0; i < fault_count; i++) {
        if (strcmp(faults[i].name, name) == 0)
            return i;
    }
    return -1;
}

static int workload_named(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++) {
        if (strcmp(workloads[i].name, name) == 0)
            return i;
    }
    return -1;
}

static void take_over(const char *line)
{
    char fault_name[64], workload_name[64], what[16], reason[REASON] = "";
    int number;
    long long took_ms;
    unsigned long long struck;

    if (sscanf(line, "%63s %63s %d %15s %lld %llu %239[^\n]", fault_name, workload_name,
               &number, what, &took_ms, &struck, reason) < 6)
        return;
    int fault = fault_named(fault_name), workload = workload_named(workload_name);
    bool failed = strcmp(what, "failed") == 0;
    if (fault < 0 || workload < 0 || number < 0 || strcmp(what, "skipped") == 0)
        return;
    if (number >= options.runs && !failed)
        return;
    cell *sum = &cells[fault][workload];
    if (number < options.runs && done[run_index(fault, workload, number)]++ && !failed)
        return;
    sum->passed += !failed;
    sum->failed += failed;
    sum->failed_earlier += failed;
    sum->struck += struck;
    if (failed || sum->reason[0] == '\0')
        snprintf(sum->reason, sizeof sum->reason, "%s", reason);
    if (took_ms * ODI_MILLISECOND > sum->longest_ns)
        sum->longest_ns = took_ms * ODI_MILLISECOND;
}

static void open_results(void)
{
    char line[512];

    if (options.resume == NULL)
        return;
    FILE *before = options.fresh ? NULL : fopen(options.resume, "re");
    while (before != NULL && fgets(line, sizeof line, before) != NULL)
        take_over(line);
    if (before != NULL)
        fclose(before);
    options.results = fopen(options.resume, options.fresh ? "we" : "ae");
    if (options.results == NULL) {
        fprintf(stderr, "faults: %s cannot be written: %s\n", options.resume,
                strerror(errno));
        exit(2);
    }
}

/* ---- telling ---- */

static void list(void)
{
    printf("workloads\n");
    for (int i = 0; i < WORKLOADS; i++)
        printf("  %-20s %s\n", workloads[i].name, workloads[i].what);
    printf("\nfaults, and what must come of them\n");
    for (int i = 0; i < fault_count; i++)
        printf("  %-20s %s\n  %-20s -> %s\n", faults[i].name, faults[i].how, "",
               faults[i].expect);
    printf("\n%d faults x %d workloads = %d cells\n", fault_count, WORKLOADS,
           fault_count * WORKLOADS);
}

typedef enum { NOT_RUN, CELL_PASSED, CELL_FAILED, CELL_SKIPPED } cell_verdict;

static bool never_struck(int fault, const cell *sum)
{
    return faults[fault].strikes == STRIKES_SOME_RUN && sum->passed >= MANY_RUNS &&
           sum->struck == 0;
}

/* A cell of which a run was skipped has not been passed, whatever the others did. */
static cell_verdict verdict_on(int fault, int workload)
{
    const cell *sum = &cells[fault][workload];

    if (sum->failed > 0 || never_struck(fault, sum))
        return CELL_FAILED;
    if (sum->skipped > 0)
        return CELL_SKIPPED;
    return sum->passed > 0 ? CELL_PASSED : NOT_RUN;
}

static void tell_cell(int fault, int workload)
{
    const cell *sum = &cells[fault][workload];
    char text[32];

    if (never_struck(fault, sum))
        snprintf(text, sizeof text, "NEVER STRUCK");
    else if (sum->failed > 0)
        snprintf(text, sizeof text, "%d FAILED of %d", sum->failed,
                 sum->passed + sum->failed);
    else if (sum->skipped > 0)
        snprintf(text, sizeof text, "skipped %d of %d", sum->skipped,
                 sum->passed + sum->skipped);
    else if (sum->passed > 0)
        snprintf(text, sizeof text, "%d ok %4.1f s", sum->passed,
                 (double)sum->longest_ns / 1e9);
    else
        snprintf(text, sizeof text, "-");
    printf(" %-15s", text);
}

static bool was_run(int fault)
{
    int runs = 0;

    for (int workload = 0; workload < WORKLOADS; workload++) {
        const cell *sum = &cells[fault][workload];

        runs += sum->passed + sum->failed + sum->skipped;
    }
    return runs > 0;
}

static void tell_why(int fault, int workload)
{
    const cell *sum = &cells[fault][workload];
    const char *names[] = {faults[fault].name, workloads[workload].name};

    if (sum->failed > 0 || sum->skipped > 0)
        printf("%s/%s: %s\n", names[0], names[1], sum->reason);
    if (sum->failed_earlier > 0)
        printf("%s/%s: %d of the failures are from earlier, and only --fresh forgets them\n",
               names[0], names[1], sum->failed_earlier);
    if (never_struck(fault, sum))
        printf("%s/%s: the fault struck in none of %d runs\n", names[0], names[1],
               sum->passed);
}

static int tell(void)
{
    int of[CELL_SKIPPED + 1] = {0}, runs = 0, runs_failed = 0, runs_skipped = 0, earlier = 0;

    printf("%-20s", "fault");
    for (int i = 0; i < WORKLOADS; i++)
        printf(" %-15s", workloads[i].name);
    printf(" expected\n");
    for (int fault = 0; fault < fault_count; fault++) {
        if (!was_run(fault))
            continue;
        printf("%-20s", faults[fault].name);
        for (int workload = 0; workload < WORKLOADS; workload++) {
            const cell *sum = &cells[fault][workload];

            tell_cell(fault, workload);
            of[verdict_on(fault, workload)]++;
            runs += sum->passed + sum->failed;
            runs_failed += sum->failed;
            runs_skipped += sum->skipped;
            earlier += sum->failed_earlier;
        }
        printf(" %s\n", faults[fault].expect);
    }
    for (int fault = 0; fault < fault_count; fault++) {
        for (int workload = 0; workload < WORKLOADS; workload++)
            tell_why(fault, workload);
    }
    printf("%d runs, of which %d failed, %d of those earlier; %d more skipped\n", runs,
           runs_failed, earlier, runs_skipped);
    printf("%d passed, %d failed, %d skipped\n", of[CELL_PASSED], of[CELL_FAILED],
           of[CELL_SKIPPED]);
    return of[CELL_FAILED] > 0 || of[CELL_PASSED] == 0; /* where nothing ran, nothing holds */
}

/* ---- the program ---- */

static const char usage[] =
    "usage: faults [--runs N] [--jobs N] [--fault NAME] [--workload NAME] [--seed N]\n"
    "              [--resume FILE [--fresh]] [--keep-hung] | --list | --again FAULT WORKLOAD RUN SEED\n";

static int refuse_arguments(const char *problem)
{
    fprintf(stderr, "faults: %s\n%s", problem, usage);
    return 64;
}

static bool chosen(const char *only, const char *name)
{
    return only == NULL || strcmp(only, name) == 0;
}

static void run_matrix(void)
{
    for (int number = 0; number < options.runs; number++) {
        for (int fault = 0; fault < fault_count; fault++) {
            for (int workload = 0; workload < WORKLOADS; workload++) {
                if (number >= run_limit(&faults[fault]) ||
                    done[run_index(fault, workload, number)] ||
                    !chosen(options.only_fault, faults[fault].name) ||
                    !chosen(options.only_workload, workloads[workload].name))
                    continue;
                start(await_slot(false), fault, workload, number);
            }
        }
    }
    (void)await_slot(true);
}

/* A single run in this process, without a watchdog: for debuggers. */
static int again(char **words, int count)
{
    int fault = count > 0 ? fault_named(words[0]) : -1;
    int workload = count > 1 ? workload_named(words[1]) : -1;

    if (fault < 0 || workload < 0 || count < 4)
        return refuse_arguments("--again FAULT WORKLOAD RUN SEED");
    return one_run(&faults[fault], &workloads[workload], atoi(words[2]),
                   strtoull(words[3], NULL, 10));
}

static int read_options(int count, char **words)
{
    static const struct option known[] = {
        {"runs", required_argument, NULL, 'r'},   {"jobs", required_argument, NULL, 'j'},
        {"fault", required_argument, NULL, 'f'},  {"workload", required_argument, NULL, 'w'},
        {"seed", required_argument, NULL, 's'},   {"resume", required_argument, NULL, 'R'},
        {"fresh", no_argument, NULL, 'F'},        {"keep-hung", no_argument, NULL, 'k'},
        {"list", no_argument, NULL, 'l'},         {"again", no_argument, NULL, 'a'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(count, words, "+", known, NULL)) != -1) {
        switch (letter) {
        case 'r': options.runs = atoi(optarg); break;
        case 'j': options.at_once = atoi(optarg); break;
        case 'f': options.only_fault = optarg; break;
        case 'w': options.only_workload = optarg; break;
        case 's': options.seed = strtoull(optarg, NULL, 10); break;
        case 'R': options.resume = optarg; break;
        case 'F': options.fresh = true; break;
        case 'k': options.keep_hung = true; break;
        case 'l': list(); exit(0);
        case 'a': exit(again(words + optind, count - optind));
        default: return refuse_arguments("an option is unknown");
        }
    }
    if (optind < count)
        return refuse_arguments("an argument is too many");
    if (options.runs < 1 || options.runs > 100000)
        return refuse_arguments("--runs takes 1 to 100000");
    if (options.at_once < 1 || options.at_once > MOST_AT_ONCE)
        return refuse_arguments("--jobs takes 1 to 16");
    if (options.only_fault != NULL && fault_named(options.only_fault) < 0)
        return refuse_arguments("no fault has that name (--list shows them)");
    if (options.only_workload != NULL && workload_named(options.only_workload) < 0)
        return refuse_arguments("no workload has that name (--list shows them)");
    return 0;
}

int main(int count, char **words)
{
    int status = read_options(count, words);

    if (status != 0)
        return status;
    ssize_t length = readlink("/proc/self/exe", options.self, sizeof options.self - 1);
    if (length < 0) {
        perror("faults: /proc/self/exe");
        return 2;
    }
    options.self[length] = '\0';
    done = calloc((size_t)fault_count * WORKLOADS * (size_t)options.runs, 1);
    if (done == NULL || fault_count > MOST_FAULTS) {
        fprintf(stderr, "faults: no memory, or too many faults\n");
        return 2;
    }
    open_results();
    run_matrix();
    return tell();
}
