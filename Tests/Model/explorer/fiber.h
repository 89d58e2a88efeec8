// fiber.h — the scenario's threads as stacks of one kernel thread, switched by hand.
//
// A fiber is started again for every execution and simply forgotten half-way: C code has no
// destructors to run. Each has thread-local variables of its own: they are put in place when
// it is resumed. (The address of one, handed to another fiber, would name that fiber's.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

// The thread-local variables are what they are in a new thread, whatever the last fiber left there.
void forget_locals();

class Fiber {
public:
    // `stack` stays the caller's.
    void prepare(char *stack, size_t bytes);
    // Starts over with `entry(argument)`, which must never return.
    void restart(void (*entry)(void *), void *argument);
    // From the scheduler: runs until the fiber yields.
    void resume();
    // From the fiber: back to whoever resumed it.
    void yield();

private:
    char *stack_ = nullptr;
    size_t bytes_ = 0;
    void *inside_ = nullptr;  // the fiber's saved stack pointer (or context)
    void *outside_ = nullptr; // its resumer's
    std::vector<char> locals_; // thread-local variables, while it does not run
};

} // namespace model
