/* overdrive.hpp — fork and join for C++17, over od_fork.h: two branches, a loop, and a group of branches.
 *
 *     overdrive::join([&] { left = sum(first, middle); }, [&] { right = sum(middle, last); });
 *     overdrive::parallel_for(0, count, [&](int i) { table[i] = value(i); });
 *
 * An exception of a branch reaches the thread that joins the branch. Every fork is joined before the call ends.
 * The header also compiles with -fno-exceptions.
 */
#ifndef OVERDRIVE_HPP
#define OVERDRIVE_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#if defined(__cpp_exceptions)
#include <exception>
#endif

#include "od_fork.h"
#include "od_loop.h"

namespace overdrive {

namespace detail {

/* The exception of a branch, or none. */
class outcome {
public:
    template <class Function> void run(Function &function) noexcept
    {
#if defined(__cpp_exceptions)
        try {
            function();
        } catch (...) {
            error = std::current_exception();
        }
#else
        function();
#endif
    }

    void rethrow() const
    {
#if defined(__cpp_exceptions)
        if (error)
            std::rethrow_exception(error);
#endif
    }

    /* Replaces this outcome by an earlier branch's exception. */
    void prefer(const outcome &earlier) noexcept
    {
#if defined(__cpp_exceptions)
        if (earlier.error)
            error = earlier.error;
#else
        (void)earlier;
#endif
    }

private:
#if defined(__cpp_exceptions)
    std::exception_ptr error;
#endif
};

/* The second branch, which a thief reads. It lives in the frame of the join. */
template <class Function> struct branch {
    Function &function;
    outcome result;

    static void run(void *raw)
    {
        auto *self = static_cast<branch *>(raw);
        self->result.run(self->function);
    }
};

/* An open fork. If an exception ends the scope, the destructor joins the fork. It does not run a branch that no
 * thread has taken. */
class offer {
public:
    explicit offer(od_fork_slot *newest) : slot(newest) {}
    offer(const offer &) = delete;
    offer &operator=(const offer &) = delete;
    ~offer()
    {
        if (slot != nullptr && !od_fork_pop(slot) && od_join_back())
            od_join_end();
    }

    template <class Function> void join(branch<Function> &second)
    {
        if (od_fork_pop(std::exchange(slot, nullptr))) {
            second.function();
            return;
        }
        if (od_join_back()) {
            branch<Function>::run(&second);
            od_join_end();
        }
        second.result.rethrow();
    }

private:
    od_fork_slot *slot;
};

template <class Index, class Body> void loop(Index first, Index last, uint64_t chunk, Body &body)
{
    while (first < last) {
        const uint64_t left = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
        const auto after = [first](uint64_t count) {
            return static_cast<Index>(static_cast<uint64_t>(first) + count);
        };

        if (left > 1 && od_fork_wanted()) {
            const Index middle = after(left / 2);
            auto upper = [&] { loop(middle, last, chunk / 2 + 1, body); };
            branch<decltype(upper)> second{upper, {}};
            offer fork(od_fork(second.run, &second));

            loop(first, middle, chunk, body);
            fork.join(second);
            return;
        }
        const uint64_t began = od_loop_ticks();
        const Index end = left > chunk ? after(chunk) : last;
        for (; first < end; ++first)
            body(first);
        const uint64_t took = od_loop_ticks() - began;
        if (took < od_loop_unit())
            chunk = chunk < left ? 2 * chunk : chunk;
        else if (took > 4 * od_loop_unit())
            chunk = chunk / 2 + 1;
    }
}

} // namespace detail

/* Runs first() on the calling thread and second() on any thread, and returns when both have ended. If first()
 * throws, second() may not run. Throws the exception of first(), else of second(). */
template <class First, class Second> void join(First &&first, Second &&second)
{
    detail::branch<std::remove_reference_t<Second>> other{second, {}};
    detail::offer fork(od_fork(other.run, &other));

    first();
    fork.join(other);
}

/* Calls body(i) once for each i of first … last - 1, in parallel if workers are free. Throws the exception of one
 * call; each part ends at its first exception, and parts that no thread has taken do not start. */
template <class Index, class Body> void parallel_for(Index first, Index last, Body &&body)
{
    static_assert(std::is_integral<Index>::value, "parallel_for: choose an integer type for the numbers");
    detail::loop(first, last, uint64_t(1), body);
}

/* A group of any number of branches. Only the thread that made it calls run and wait; a branch, which any thread may
 * take, makes a group of its own. Forks that the thread opens after run are joined before wait, so groups nest.
 *
 *     overdrive::task_group group;
 *     for (node *child : children)
 *         group.run([=] { visit(child); });
 *     group.wait();
 *
 * Each branch costs one allocation. */
class task_group {
public:
    task_group() = default;
    task_group(const task_group &) = delete;
    task_group &operator=(const task_group &) = delete;

    /* Joins the branches that other threads have taken. The others do not run. */
    ~task_group()
    {
        while (newest != nullptr)
            end_newest(false);
    }

    /* Offers function() to other threads. With too many open forks, runs function() at once. */
    template <class Function> void run(Function &&function)
    {
        if (ends)
            misuse("a branch adds to its own group. Make a group in the branch.");
        auto *made = new node<std::decay_t<Function>>(std::forward<Function>(function));

        made->next = newest;
        newest = made;
        if (od_fork_is_crowded()) {
            newest->run(newest);
            return;
        }
        made->slot = od_fork(newest->run, newest);
        made->in_place = !od_fork_is_newest(made->slot);
    }

    /* Returns when all branches have ended. Throws the exception of the branch that was run first. */
    void wait()
    {
        while (newest != nullptr)
            end_newest(true);
        std::exchange(result, detail::outcome()).rethrow();
    }

private:
    struct item {
        void (*run)(void *);
        void (*free)(item *);
        item *next = nullptr;
        od_fork_slot *slot = nullptr;
        bool in_place = false; /* no thread can take it: it has run */
        detail::outcome result;
    };

    template <class Function> struct node : item {
        Function function;

        template <class Given>
        explicit node(Given &&given)
            : item{run_function, free_node, nullptr, nullptr, false, {}}, function(std::forward<Given>(given))
        {
        }

        static void run_function(void *raw)
        {
            auto *self = static_cast<node *>(static_cast<item *>(raw));
            self->result.run(self->function);
        }

        static void free_node(item *self) { delete static_cast<node *>(self); }
    };

    [[noreturn]] static void misuse(const char *sentence)
    {
        std::fprintf(stderr, "overdrive::task_group: %s\n", sentence);
        std::abort();
    }

    void end_newest(bool runs)
    {
        item *ended = newest;

        if (ended->slot != nullptr) {
            if (!ended->in_place && !od_fork_is_newest(ended->slot))
                misuse("a later fork of this thread is open. Join it before wait.");
            const bool is_private = od_fork_pop(ended->slot);
            if (is_private || od_join_back()) {
                ends = true;
                if (runs)
                    ended->run(ended);
                ends = false;
                if (!is_private)
                    od_join_end();
            }
        }
        newest = ended->next;
        result.prefer(ended->result);
        ended->free(ended);
    }

    item *newest = nullptr;
    bool ends = false; /* while a wait runs a branch */
    detail::outcome result;
};

} // namespace overdrive

#endif
