// oneTBB: task groups with one shared context (a context of their own costs nearly twice as much), the
// last child run by run_and_wait, parallel_for's own partitioner, and flow graphs for tasks that depend on tasks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "onetbb_graphs.hpp"
#include "shapes.hpp"

namespace {

tbb::task_group_context *context;

struct OneTBB {
    template <class F, class G> static void two(F f, G g) {
        tbb::task_group group(*context);
        group.run([&f] { f(); });
        group.run_and_wait([&g] { g(); });
    }
    template <class F> static void many(int count, F f) {
        tbb::task_group group(*context);
        for (int i = 0; i < count - 1; i++) group.run([&f, i] { f(i); });
        group.run_and_wait([&f, count] { f(count - 1); });
    }
    template <class F> static void loop(uint64_t count, F f) {
        tbb::parallel_for(tbb::blocked_range<uint64_t>(0, count), [&f](const auto &range) {
            for (uint64_t i = range.begin(); i != range.end(); i++) f(i);
        });
    }
    template <class F> static void root(F f) { f(); }
};

// From outside: an arena whose slots are all for workers, so that the submitter does not help.
struct Outside {
    tbb::global_control threads{tbb::global_control::max_allowed_parallelism,
                                static_cast<size_t>(harness_workers()) + 1};
    tbb::task_arena arena{harness_workers(), 0};
    tbb::task_group group;

    template <class F> void submit(F f) { arena.enqueue(group.defer(std::move(f))); }
    void wait() { group.wait(); }
};

// On so many threads at once, or on this one when it is one.
template <class Share> void each_of(int64_t submitters, Share share) {
    if (submitters == 1) return share();
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < submitters; i++) threads.emplace_back(share);
    for (auto &thread : threads) thread.join();
}

template <class Body> void spawn(Outside &outside, int64_t n, int64_t submitters, Body body) {
    each_of(submitters, [&, n, submitters] {
        for (int64_t i = 0; i < n / submitters; i++) outside.submit(body);
    });
}

void spawn_outside() {
    Outside outside;
    const int64_t n = harness_value("n", 100000), submitters = harness_value("submitters", 1);
    shapes::measure([&] {
        spawn(outside, n, submitters, [] {});
        outside.wait();
        return static_cast<uint64_t>(0);
    });
    std::atomic<uint64_t> ran{0};
    spawn(outside, n, submitters, [&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    outside.wait();
    printf("check %" PRIu64 "\n", ran.load());
}

void spawn_captures() {
    Outside outside;
    const int64_t n = harness_value("n", 100000), submitters = harness_value("submitters", 1);
    struct Ballast {
        const int64_t left;  // only closures whose number has none of these bits are counted
        std::atomic<uint64_t> ran{0};
        explicit Ballast(int64_t left) : left(left) {}
        void add(int64_t number) {
            if ((number & left) == 0) ran.fetch_add(1, std::memory_order_relaxed);
        }
    };
    const auto submit = [&](const std::shared_ptr<Ballast> &ballast) {
        each_of(submitters, [&, n, submitters] {
            for (int64_t i = 0; i < n / submitters; i++) outside.submit([i, ballast] { ballast->add(i); });
        });
        outside.wait();
    };
    const auto light = std::make_shared<Ballast>(INT64_MAX), counting = std::make_shared<Ballast>(0);
    shapes::measure([&] {
        submit(light);
        return static_cast<uint64_t>(0);
    });
    submit(counting);
    printf("check %" PRIu64 "\n", counting->ran.load());
}

void spawn_inside() {
    const int64_t n = harness_value("n", 100000);
    const auto flood = [n](auto body) {
        tbb::task_group group;
        group.run_and_wait([&] {
            for (int64_t i = 0; i < n; i++) group.run(body);
        });
    };
    shapes::measure([&] {
        flood([] {});
        return static_cast<uint64_t>(0);
    });
    std::atomic<uint64_t> ran{0};
    flood([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    printf("check %" PRIu64 "\n", ran.load());
}

// One small task is submitted and waited for; the samples are the medians of ten parts, one after another.
void wake() {
    Outside outside;
    const int64_t quiet = harness_value("quiet_us", 0), trips = harness_value("trips", 500);
    std::vector<int64_t> times(static_cast<size_t>(trips));
    uint64_t ran = 0;
    int64_t began = 0, cpu = 0;
    for (int64_t i = -10; i < trips; i++) {
        if (i == 0) {
            began = harness_now();
            cpu = harness_clock(CLOCK_PROCESS_CPUTIME_ID);
        }
        if (quiet > 0) std::this_thread::sleep_for(std::chrono::microseconds(quiet));
        const int64_t start = harness_now();
        outside.submit([&ran] { ran++; });
        outside.wait();
        if (i >= 0) times[static_cast<size_t>(i)] = harness_now() - start;
    }
    harness_fact("cpus", static_cast<double>(harness_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu) / static_cast<double>(harness_now() - began));
    const size_t part = std::max<size_t>(1, times.size() / 10);
    for (size_t start = 0; start + part <= times.size(); start += part) {
        std::vector<int64_t> some(times.begin() + static_cast<std::ptrdiff_t>(start), times.begin() + static_cast<std::ptrdiff_t>(start + part));
        std::sort(some.begin(), some.end());
        harness_sample(some[part / 2], ran - 10);
    }
    std::sort(times.begin(), times.end());
    harness_fact("p99_ns", static_cast<double>(times[times.size() * 99 / 100]));
}

// Each task submits the next.
void chain() {
    Outside outside;
    const int64_t n = harness_value("n", 10000);
    struct Link {
        Outside &outside;
        std::atomic<uint64_t> &ran;
        int64_t left;
        void operator()() const {
            ran.fetch_add(1, std::memory_order_relaxed);
            if (left > 1) outside.submit(Link{outside, ran, left - 1});
        }
    };
    shapes::measure([&] {
        std::atomic<uint64_t> ran{0};
        outside.submit(Link{outside, ran, n});
        outside.wait();
        return ran.load();
    });
}

// A square of cells, each after its upper and left neighbours, which count.
void wavefront() {
    const int64_t side = harness_value("side", 64);
    const uint64_t steps = static_cast<uint64_t>(harness_value("steps", 100));
    std::vector<std::atomic<int>> waiting(static_cast<size_t>(side * side));
    std::vector<uint64_t> cell(static_cast<size_t>(side * side));
    tbb::task_group group;
    struct Cell {
        tbb::task_group &group;
        std::vector<std::atomic<int>> &waiting;
        std::vector<uint64_t> &cell;
        int64_t side;
        uint64_t steps;
        int64_t at;
        void operator()() const {
            const auto i = static_cast<size_t>(at), width = static_cast<size_t>(side);
            const uint64_t up = at >= side ? cell[i - width] : 1, left = at % side ? cell[i - 1] : 1;
            cell[i] = wl_spin(up + left, steps);
            const auto release = [&](int64_t next) {
                if (waiting[static_cast<size_t>(next)].fetch_sub(1, std::memory_order_acq_rel) == 1) {
                    group.run(Cell{group, waiting, cell, side, steps, next});
                }
            };
            if (at % side + 1 < side) release(at + 1);
            if (at + side < side * side) release(at + side);
        }
    };
    shapes::measure(
        [&] {
            std::fill(cell.begin(), cell.end(), 0);  // or what the last sample left would hide a neighbour that came too late
            for (int64_t i = 0; i < side * side; i++) waiting[static_cast<size_t>(i)] = (i % side > 0) + (i >= side);
        },
        [&] {
            group.run_and_wait(Cell{group, waiting, cell, side, steps, 0});
            return cell.back();
        });
}

const harness_entry entries[] = {SHAPES_TREES(OneTBB),           SHAPES_LOOPS(OneTBB),
                                 {"spawn-outside", spawn_outside}, {"spawn-captures", spawn_captures},
                                 {"spawn-inside", spawn_inside},   {"wake", wake},
                                 {"chain", chain},                 {"wavefront-counted", wavefront},
                                 {"dag-chain", [] { onetbb_graphs::chain(*context); }},
                                 {"dag-tree", [] { onetbb_graphs::tree(*context); }},
                                 {"wavefront", [] { onetbb_graphs::wavefront(*context); }},
                                 {"graph", [] { onetbb_graphs::graph(*context); }},
                                 {"graph-memory", [] { onetbb_graphs::graph_memory(*context); }},
                                  {"pipeline", [] { onetbb_graphs::pipeline(*context); }}};

}  // namespace

int main(int argc, char **argv) {
    harness_argc = argc;
    harness_argv = argv;
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                argc < 2 ? 1 : static_cast<size_t>(harness_workers()) +
                                                   (strncmp(argv[1], "spawn-o", 7) == 0 || strncmp(argv[1], "spawn-c", 7) == 0 ||
                                                    strcmp(argv[1], "wake") == 0 || strcmp(argv[1], "chain") == 0));
    // Deep trees run on the workers' stacks too; like Overdrive's, they are only touched as they are used.
    tbb::global_control stacks(tbb::global_control::thread_stack_size, static_cast<size_t>(256) << 20);
    tbb::task_group_context shared;
    context = &shared;
    return harness_main(argc, argv, entries, sizeof entries / sizeof *entries);
}
