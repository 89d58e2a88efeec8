/* matrix.c — the faults, what is done, and what must come of it. `faults --list` prints this
 * table; a run is judged by it.
 *
 * "Completes" means: every pool that could be made ended its waves, with every accepted job
 * run exactly once or cancelled and reported as cancelled, no queue's width exceeded, and
 * the stop's report in agreement with the ledger. In "queues" it means too that no target runs
 * more than it has places, barriers run alone, branches have the serial answer, and no timer is
 * early, late after its cancel, or without an end. Where a fault `starves`, closures wait
 * for nobody but their own children: threads for all who wait cannot be had, for want of threads or of memory
 * for them, and nobody is run on the stack of another. A submission may be refused there for want of memory.
 *
 * Where it `lacks_records`, there may be no memory for the table of records, without which there is no
 * timer whose calls are barriers: "queues" has no timers. */
#include "Faults/strikes.h"

const fault faults[] = {
    {"none", "nothing is done to the run", "completes: the workloads themselves are sound",
     .strikes = STRIKES_NEVER, .rounds = 1},

    /* ---- threads ---- */
    {"thread-kth", "pthread_create fails at the k-th call, once; k = 1 to 8",
     "completes: a worker gets half the stack, a monitor comes later",
     /* A small pool that is done early asks for no further one. */
     .strikes = STRIKES_SOME_RUN, .arm = thread_kth, .disarm = threads_again, .rounds = 8,
     .starves = true},
    {"thread-from-kth", "pthread_create fails at the k-th call and ever after; k = 1 to 8",
     "completes with k - 1 threads more than the first and its spare",
     .strikes = STRIKES_SOME_RUN, /* as above */
     .arm = thread_from_kth, .disarm = threads_again_after_few, .rounds = 8,
     .starves = true},
    {"thread-always", "pthread_create fails always",
     "completes with the first thread and its spare, and the pool says that it has no other",
     .arm = thread_always, .disarm = threads_again_after_none, .rounds = 3,
     .starves = true},
    {"thread-random", "pthread_create fails once in 2, 3 or 4 calls",
     "completes, going on with whatever threads there are",
     .strikes = STRIKES_SOME_RUN, .arm = thread_at_random, .disarm = threads_again,
     .rounds = 6, .starves = true},
    {"thread-strace", "strace makes clone3 fail with EAGAIN from each thread's 4th on",
     "completes: the C library's own failure is handled like an injected one",
     .under_strace = true, .disarm = some_threads_refused, .rounds = 3, .slow = true,
     .starves = true},
    {"thread-nproc", "RLIMIT_NPROC leaves room for none, one or two more threads",
     "completes with that many threads at most", .strikes = STRIKES_SOME_RUN,
     .prepare = process_limit, .disarm = room_was_kept, .starves = true},
    {"thread-pids", "a pids control group leaves room for none, one or two more threads",
     "completes with that many threads at most", .strikes = STRIKES_SOME_RUN,
     .prepare = pids_group, .disarm = room_was_kept, .starves = true},

    /* ---- memory ---- */
    {"memory-nth", "the n-th allocation and the n-th mapping fail, once; n = 1 to 60",
     "completes, or the pool is refused with OD_NO_MEMORY", .prepare = memory_nth,
     .arm = memory_nth, .disarm = memory_again, .rounds = 12, .may_refuse = true,
     .counts_loosely = true, .starves = true},
    {"memory-from-nth", "allocations and mappings fail from the n-th on; n = 1 to 60",
     "completes, or the pool is refused: what cannot be kept is refused",
     .arm = memory_from_nth, .disarm = memory_again, .rounds = 12, .counts_loosely = true, .starves = true},
    {"memory-random", "one in 2 to 8 allocations and mappings fails",
     "completes", .arm = memory_at_random, .disarm = memory_again, .rounds = 8,
     .counts_loosely = true, .starves = true},
    {"memory-heap", "no allocation can be had, but mappings can: no table of workers",
     "completes: what cannot be kept is refused", .arm = heap_always,
     .disarm = memory_again, .rounds = 4, .counts_loosely = true, .starves = true},
    {"memory-maps", "no mapping can be had: no ring or injector block of its size",
     "completes: deques stay small, and what cannot be kept is refused", .arm = maps_always,
     .disarm = memory_again, .rounds = 4, .counts_loosely = true, .starves = true},
    {"memory-windows", "for 3 ms in 4 no memory can be had at all",
     "completes", .beside = memory_windows, .disarm = memory_again, .least_ms = 60,
     .counts_loosely = true, .starves = true},
    {"memory-resize", "memory fails at random while the pool grows and shrinks",
     "completes: workers that cannot hand their jobs over stay", .beside = memory_and_resize,
     .disarm = memory_again, .least_ms = 60, .counts_loosely = true, .starves = true},
    {"memory-space", "RLIMIT_AS leaves 24 to 200 MiB: stacks of 256 MiB do not fit",
     "completes: stacks are halved until they fit, then as without threads",
     .prepare = address_space, .disarm = memory_was_short, .may_refuse = true,
     .counts_loosely = true, .starves = true, .lacks_records = true},

    /* ---- system calls ---- */
    {"refused-affinity", "sched_setaffinity (and getaffinity) fail with EPERM: seccomp",
     "completes unpinned; each refusal to pin is counted as a warning",
     .prepare = no_affinity, .disarm = pins_refused, .rounds = 2},
    {"refused-policy", "mbind, set_mempolicy, get_mempolicy, getcpu fail: seccomp",
     "completes with memory wherever it comes from", .prepare = no_policy,
     .disarm = calls_refused},
    {"refused-binding", "mbind fails with ENOMEM, from the start or once there is a pool: seccomp",
     "completes on workers, with memory wherever it comes from: no thread is missed, and nothing "
     "warned of", .prepare = no_binding, .arm = no_binding_from_here,
     .disarm = bindings_refused},
    {"refused-membarrier", "membarrier fails with EPERM or ENOSYS from the start: seccomp",
     "completes with full fences on both sides", .before_exec = no_membarrier,
     .disarm = calls_refused, .rounds = 2},
    {"lost-membarrier", "membarrier is refused after the pool registered for it: seccomp",
     "ends with a sentence that names membarrier (in the midst of a grace period with liburcu's own): "
     "going on could lose work", TRAPS, "membarrier", "Unrecoverable error", .arm = membarrier_gone},
    {"odd-machine", "a machine of two nodes whose CPUs and memory do not exist is pinned to",
     "completes unpinned; each refusal is counted as a warning",
     .strikes = STRIKES_SOME_RUN, .prepare = two_nodes, .disarm = pins_refused},
    {"futex-lies", "futex waits return EINTR or 0 at once, wakes come late",
     "completes: every wait looks again", .arm = futex_lie, .disarm = futex_honest,
     .rounds = 4},
    {"wall-clock", "each use of CLOCK_REALTIME by the engine is noted",
     "completes without one: a jump of the wall clock cannot matter", .strikes = STRIKES_NEVER,
     .arm = wall_clock, .verify = wall_clock_verify},

    /* ---- descriptors and files ---- */
    {"no-descriptors", "RLIMIT_NOFILE is 8 and all 8 are in use",
     "completes: the engine needs none", .prepare = descriptors, .rounds = 2},
    {"no-proc", "/proc and /sys are empty: mount namespace",
     "completes with what the system calls tell", .before_exec = nothing_in_proc,
     .prepare = proc_is_empty, .rounds = 2},

    /* ---- limits that change ---- */
    {"quota", "the cpu control group's quota becomes 0.8 CPUs and is lifted again",
     "completes; the number of workers follows within 2 s of activity",
     .before_exec = quota_group, .prepare = follow_limits, .beside = quota_changes,
     .until_beside = true, .slow = true},
    {"cpuset", "the cpuset control group shrinks to one CPU and widens again",
     "completes, also pinned; the number of workers follows within 2 s of activity, and no "
     "thread may run on the CPU that is missing",
     .before_exec = cpuset_group, .prepare = follow_limits, .beside = cpuset_changes,
     .until_beside = true, .slow = true},
    {"limits-v2", "recorded trees of cgroup v2, good and bad, mixed anew at every read",
     "completes; never fewer than one worker, never more than the CPUs",
     .prepare = hostile_machine, .beside = hostile_machine_changes, .least_ms = 100},
    {"affinity", "every thread's affinity changes every 2 ms", "completes",
     .beside = affinity_churn, .least_ms = 100},
    {"resize", "the pool's size changes every 0.3 ms, between 1 and 6", "completes",
     .beside = resize, .least_ms = 100},

    /* ---- time ---- */
    {"freeze-signal", "a thread of the engine is held for 10 to 50 ms, again and again: "
     "SIGPROF", "completes: others go on or wait for the thaw, nothing is lost",
     .beside = freeze_by_signal, .until_beside = true,
     .least_ms = 250},
    {"freeze-group", "the same by the freezer control group, which also stops system calls",
     "completes: others go on or wait for the thaw, nothing is lost",
     .before_exec = freezer_group, .beside = freeze_by_group, .until_beside = true,
     .least_ms = 250},
    {"signals", "10,000 signals a second to random threads, without SA_RESTART",
     "completes: a wait that a signal ended looks again", .prepare = signal_handlers,
     .beside = signal_storm, .least_ms = 200},
    {"fork", "the process forks 25 times under load; each child submits and waits",
     "completes, and so does every child, with threads of its own",
     .beside = fork_again_and_again, .until_beside = true},

    /* ---- ends ---- */
    {"stuck", "one job never ends, and the pool is stopped with a deadline of 1 s",
     "the stop returns within 1.05 s (not counting waits for a CPU) and names the queue; "
     "ran + cancelled + stuck is what was accepted; nothing begins afterwards", .finish = stop_with_a_stuck_job},
    {"stop", "the pool is stopped 0 to 3 ms into the work",
     "ran + cancelled + stuck is what was accepted; nothing begins afterwards",
     .finish = stop_under_load, .rounds = 6},
    {"overflow", "a job needs more stack than there is",
     "ends by SIGSEGV in the guard below the stack; the engine says what happened, and no more",
     OVERFLOWS,
     "the fault lies in the guard\n"
     "overdrive: a worker's stack is used up. Recurse less deeply, or give the Scheduler a "
     "larger stackSize.\n",
     .finish = overflow_a_stack},
};

const int fault_count = (int)(sizeof faults / sizeof faults[0]);
