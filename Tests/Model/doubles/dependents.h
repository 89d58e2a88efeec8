/* dependents.h — the list of a task's dependents, which is closed when the task is over: AnyTask.attach and
 * what takes the list, in C for the reason that scenarios/task_word.c names. Who includes this has defined
 * `edge`, with a `next`.
 */
static odi_atomic(edge *) dependents;
static edge closed;

/* False where the task is over. The caller has seen in its word that it has dependents. */
static bool push_dependent(edge *it)
{
    edge *head = odi_load_relaxed(&dependents);

    do {
        if (head == &closed) {
            odi_fence_acquire(none); /* Swift's exchange acquires where it fails, too */
            return false;
        }
        it->next = head;
    } while (!odi_cas_acqrel_acquire(&dependents, &head, it, none));
    return true;
}

/* All of them, newest first; nobody is added from now on. */
static edge *take_dependents(void) { return odi_swap_acqrel(&dependents, &closed, none); }
