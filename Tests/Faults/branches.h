/* branches.h — small trees of forked branches, whose results are known. */
#ifndef FAULTS_BRANCHES_H
#define FAULTS_BRANCHES_H

#include "Faults/faults.h"

/* Forks a tree, joins it and compares its result. On any thread. */
void fork_branches(prng *random);

/* The same on a thread that is no worker, as an external thread of the pool. */
void fork_branches_as_external(od_pool *pool, prng *random);

/* Whose external threads threads become that fork and are no workers. NULL: nobody's. */
void forks_belong_to(od_pool *pool);

#endif
