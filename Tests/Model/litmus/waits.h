// waits.h — what the explorer says of waits: table in waits.cc.
#pragma once

namespace litmus {

unsigned long check_waits(); // how many are not as stated

} // namespace litmus
