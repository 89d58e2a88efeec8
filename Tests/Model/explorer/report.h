// report.h — how the explorer itself gives up.
#pragma once

namespace model {

// The scenario is larger than the explorer's tables. Ends the process with status 3.
[[noreturn]] void out_of_room(const char *what);

// The explorer, or a scenario's use of it, is wrong. Ends the process with status 3.
[[noreturn]] void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace model
