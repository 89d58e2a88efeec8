// futex.h — the read-modify-writes of a futex's queue.
#pragma once

#include <cstdint>

namespace model {

constexpr uint8_t kFutexLock = 16, kFutexWake = 17, kFutexLeave = 18; // continue model_rmw_kind

bool futex_is_free(uint64_t queue);
uint64_t futex_written(uint8_t kind, uint64_t queue, uint64_t operand);

} // namespace model
