/* strikes.h — what the matrix's faults do; see the table in matrix.c for what each is for. */
#ifndef FAULTS_STRIKES_H
#define FAULTS_STRIKES_H

#include "Faults/faults.h"

/* strikes_resources.c: threads, memory, descriptors, what the kernel refuses */
void thread_kth(run *it);
void thread_from_kth(run *it);
void thread_always(run *it);
void thread_at_random(run *it);
void threads_again(run *it);
void threads_again_after_none(run *it);
void threads_again_after_few(run *it);
void some_threads_refused(run *it);
void room_was_kept(run *it);
void process_limit(run *it);
void pids_group(run *it);
void memory_nth(run *it);
void memory_from_nth(run *it);
void memory_at_random(run *it);
void maps_always(run *it);
void heap_always(run *it);
void memory_windows(run *it);
void memory_and_resize(run *it);
void memory_again(run *it);
void memory_was_short(run *it);
void address_space(run *it);
void descriptors(run *it);
void nothing_in_proc(int number, pid_t pid);
void proc_is_empty(run *it);
void no_membarrier(int number, pid_t pid);
void membarrier_gone(run *it);
void two_nodes(run *it);
void no_affinity(run *it);
void no_policy(run *it);
void no_binding(run *it);
void no_binding_from_here(run *it);
void bindings_refused(run *it);
void pins_refused(run *it);
void calls_refused(run *it);

/* strikes_time.c: what happens beside the workload */
void futex_lie(run *it);
void futex_honest(run *it);
void wall_clock(run *it);
void wall_clock_verify(run *it);
void quota_group(int number, pid_t pid);
void quota_changes(run *it);
void cpuset_group(int number, pid_t pid);
void cpuset_changes(run *it);
void follow_limits(run *it);
void hostile_machine(run *it);
void hostile_machine_changes(run *it);
void freezer_group(int number, pid_t pid);
void freeze_by_group(run *it);
void freeze_by_signal(run *it);
void signal_handlers(run *it);
void signal_storm(run *it);
void affinity_churn(run *it);
void resize(run *it);
void fork_again_and_again(run *it);

/* strikes_ends.c: runs that end in their own way */
void stop_with_a_stuck_job(run *it);
void stop_under_load(run *it);
void overflow_a_stack(run *it);

#endif
