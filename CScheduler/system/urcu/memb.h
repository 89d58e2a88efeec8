/* memb.h — names liburcu's membarrier flavour for the package manager. Only CScheduler/reclaim includes
 * <urcu/urcu-memb.h>, by that name. */
#ifndef OD_SYSTEM_URCU_MEMB_H
#define OD_SYSTEM_URCU_MEMB_H

#include <urcu/urcu-memb.h>

#endif
