// Yardstick: FCFS and EASY backfilling as one would write them by hand in C++17.
//
//   g++ -O3 -march=native -std=c++17 -o yardstick yardstick.cpp
//   ./yardstick FILE fcfs|easy REPEATS
//
// FILE is binary, native byte order: int64 n, int64 procs, then double submit[n], runtime[n],
// estimate[n] and int64 width[n]; jobs sorted by submit. All that happens at one instant
// (completions, then submissions) comes before one scheduling pass. The time printed is the best of
// the repeats and covers the scheduling only: no reading, no allocation, no statistics.
//
// The checksum is FNV-1a over the start times, taken as 64-bit words.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Workload {
    int64_t procs = 0;
    std::vector<double> submit, runtime, estimate;
    std::vector<int32_t> width;
    int32_t size() const { return static_cast<int32_t>(submit.size()); }
};

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "yardstick: %s\n", message.c_str());
    std::exit(2);
}

template <class T>
void read_array(std::FILE* file, T* into, size_t count) {
    if (std::fread(into, sizeof(T), count, file) != count) fail("the file is too short");
}

Workload read_workload(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (!file) fail(std::string("cannot open ") + path);
    int64_t head[2];
    read_array(file, head, 2);
    const size_t n = static_cast<size_t>(head[0]);
    Workload w;
    w.procs = head[1];
    for (auto* column : {&w.submit, &w.runtime, &w.estimate}) {
        column->resize(n);
        read_array(file, column->data(), n);
    }
    std::vector<int64_t> wide(n);
    read_array(file, wide.data(), n);
    std::fclose(file);
    w.width.assign(wide.begin(), wide.end());
    for (size_t i = 0; i < n; ++i) {
        if (wide[i] < 1 || wide[i] > w.procs) fail("a width is not between 1 and procs");
        if (i && w.submit[i] < w.submit[i - 1]) fail("jobs are not sorted by submit");
    }
    return w;
}

// A running job in the heap of completions.
struct Completion {
    double end;
    int32_t job;
};

// Binary min-heap on an array that never grows during a run.
class CompletionHeap {
public:
    explicit CompletionHeap(int64_t capacity) : heap_(static_cast<size_t>(capacity)) {}
    void clear() { size_ = 0; }
    double next() const { return size_ ? heap_[0].end : kNever; }

    void push(double end, int32_t job) {
        size_t at = size_++;
        for (; at; at = (at - 1) / 2) {
            const Completion& parent = heap_[(at - 1) / 2];
            if (parent.end <= end) break;
            heap_[at] = parent;
        }
        heap_[at] = {end, job};
    }

    int32_t pop() {
        const int32_t job = heap_[0].job;
        const Completion last = heap_[--size_];
        size_t at = 0;
        for (size_t child = 1; child < size_; child = 2 * at + 1) {
            if (child + 1 < size_ && heap_[child + 1].end < heap_[child].end) ++child;
            if (last.end <= heap_[child].end) break;
            heap_[at] = heap_[child];
            at = child;
        }
        heap_[at] = last;
        return job;
    }

private:
    std::vector<Completion> heap_;
    size_t size_ = 0;
};

// FCFS needs no queue: a job starts once it is there, its predecessor has started and it fits.
class Fcfs {
public:
    explicit Fcfs(const Workload& w) : w_(w), ends_(w.procs), start(w.submit.size()) {}

    void run() {
        ends_.clear();
        int64_t free = w_.procs;
        double now = -kNever;
        for (int32_t i = 0, n = w_.size(); i < n; ++i) {
            now = std::max(now, w_.submit[i]);
            const int64_t width = w_.width[i];
            while (ends_.next() <= now) free += w_.width[ends_.pop()];
            while (free < width) {
                now = ends_.next();
                free += w_.width[ends_.pop()];
            }
            free -= width;
            start[i] = now;
            ends_.push(now + w_.runtime[i], i);
        }
    }

private:
    const Workload& w_;
    CompletionHeap ends_;

public:
    std::vector<double> start;
};

class Easy {
public:
    explicit Easy(const Workload& w)
        : w_(w), ends_(w.procs), expected_(static_cast<size_t>(w.procs)),
          waiting_(w.submit.size()), start(w.submit.size()) {}

    void run() {
        ends_.clear();
        running_ = head_ = tail_ = 0;
        free_ = w_.procs;
        reserved_ = false;
        const int32_t n = w_.size();
        int32_t next = 0;
        for (;;) {
            now_ = std::min(ends_.next(), next < n ? w_.submit[next] : kNever);
            if (now_ == kNever) return;
            bool completed = false;
            for (; ends_.next() <= now_; completed = true) finish(ends_.pop());
            const size_t newcomers = tail_;
            for (; next < n && w_.submit[next] <= now_; ++next)
                waiting_[tail_++] = {w_.estimate[next], w_.width[next], next};
            if (free_ && head_ != tail_) pass(completed, newcomers);
        }
    }

private:
    struct Expected {
        double end;
        int32_t width, job;
        bool operator<(const Expected& o) const {
            return end != o.end ? end < o.end : job < o.job;
        }
    };
    struct Waiting {
        double estimate;
        int32_t width, job;
    };

    void begin(int32_t job, int32_t width, double estimate) {
        start[job] = now_;
        free_ -= width;
        ends_.push(now_ + w_.runtime[job], job);
        const Expected entry{now_ + estimate, width, job};
        Expected* first = expected_.data();
        Expected* at = std::upper_bound(first, first + running_, entry);
        std::memmove(at + 1, at, static_cast<size_t>(first + running_ - at) * sizeof(Expected));
        *at = entry;
        ++running_;
    }

    void finish(int32_t job) {
        const int32_t width = w_.width[job];
        free_ += width;
        Expected* first = expected_.data();
        Expected* last = first + running_--;
        const Expected entry{start[job] + w_.estimate[job], width, job};
        Expected* at = std::lower_bound(first, last, entry);
        std::memmove(at, at + 1, static_cast<size_t>(last - at - 1) * sizeof(Expected));
    }

    // When the head is expected to fit, and what it leaves free then. Overdue jobs end now.
    void reserve() {
        int64_t available = free_ - waiting_[head_].width;
        size_t i = 0;
        while (available < 0) available += expected_[i++].width;
        shadow_ = std::max(now_, expected_[i - 1].end);
        for (; i < running_ && expected_[i].end <= shadow_; ++i) available += expected_[i].width;
        extra_ = available;
        reserved_ = true;
    }

    // Without a completion nothing has changed for those who waited already, as long as the
    // shadow time isn't over: only the newcomers have to be looked at.
    void pass(bool completed, size_t newcomers) {
        size_t from = newcomers;
        if (completed || head_ == newcomers) {
            while (head_ != tail_ && waiting_[head_].width <= free_) {
                const Waiting& job = waiting_[head_++];
                begin(job.job, job.width, job.estimate);
            }
            reserved_ = false;
            from = head_ + 1;
        } else if (!reserved_ || now_ > shadow_) {
            reserved_ = false;
            from = head_ + 1;
        }
        if (from < tail_ && free_) backfill(from);
    }

    void backfill(size_t from) {
        if (!reserved_) reserve();
        size_t keep = from, i = from;
        for (; i < tail_ && free_; ++i) {
            const Waiting job = waiting_[i];
            if (job.width <= free_) {
                const bool is_short = now_ + job.estimate <= shadow_;
                if (is_short || job.width <= extra_) {
                    if (!is_short) extra_ -= job.width;
                    begin(job.job, job.width, job.estimate);
                    continue;
                }
            }
            waiting_[keep++] = job;
        }
        if (keep == i) return;
        std::memmove(&waiting_[keep], waiting_.data() + i, (tail_ - i) * sizeof(Waiting));
        tail_ = keep + (tail_ - i);
    }

    const Workload& w_;
    CompletionHeap ends_;
    std::vector<Expected> expected_;  // running jobs by expected end
    std::vector<Waiting> waiting_;    // [head_, tail_) waits, in order of arrival
    size_t running_ = 0, head_ = 0, tail_ = 0;
    int64_t free_ = 0, extra_ = 0;
    double now_ = 0, shadow_ = 0;
    bool reserved_ = false;

public:
    std::vector<double> start;
};

template <class Scheduler>
void measure(const Workload& w, const char* policy, int repeats) {
    using Clock = std::chrono::steady_clock;
    Scheduler scheduler(w);
    double best = kNever;
    for (int r = 0; r < repeats; ++r) {
        const auto begin = Clock::now();
        scheduler.run();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    double total = 0;
    uint64_t checksum = 14695981039346656037ULL;
    for (int32_t i = 0; i < w.size(); ++i) {
        total += scheduler.start[i] - w.submit[i];
        uint64_t bits;
        std::memcpy(&bits, &scheduler.start[i], sizeof bits);
        checksum = (checksum ^ bits) * 1099511628211ULL;
    }
    std::printf("{\"policy\": \"%s\", \"jobs\": %d, \"seconds_best\": %.9g, \"mean_wait\": %.17g, "
                "\"checksum\": \"%016llx\"}\n",
                policy, w.size(), best, w.size() ? total / w.size() : 0.0,
                static_cast<unsigned long long>(checksum));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) fail("usage: yardstick FILE fcfs|easy REPEATS");
    const Workload w = read_workload(argv[1]);
    const std::string policy = argv[2];
    const int repeats = std::max(1, std::atoi(argv[3]));
    if (policy == "fcfs") measure<Fcfs>(w, "fcfs", repeats);
    else if (policy == "easy") measure<Easy>(w, "easy", repeats);
    else fail("unknown policy " + policy);
}
