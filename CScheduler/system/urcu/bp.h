/* bp.h — names liburcu's bulletproof flavour for the package manager. Only CScheduler/reclaim includes
 * <urcu/urcu-bp.h>, by that name. */
#ifndef OD_SYSTEM_URCU_BP_H
#define OD_SYSTEM_URCU_BP_H

#include <urcu/urcu-bp.h>

#endif
