/* memb.h — liburcu's membarrier flavour, named for the package manager.
 *
 * Only CScheduler/reclaim includes <urcu/urcu-memb.h>, and it does so by that name. */
#ifndef OD_SYSTEM_URCU_MEMB_H
#define OD_SYSTEM_URCU_MEMB_H

#include <urcu/urcu-memb.h>

#endif
