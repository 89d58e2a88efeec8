/* thread_none.h — os/thread.c for scenarios that start no thread: what is asked of it is never
 * reached, or says nothing. */
#include "os/thread.h"

#include "model/scenario.h"

void odi_thread_yield(void)
{
    model_check(false); /* a wait is cut at its first pause */
}

int odi_thread_id(void)
{
    return (int)model_thread() + 1;
}
