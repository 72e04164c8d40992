/* SPDX-License-Identifier: MIT */
/*
 * vigil/fork.hpp - fork and join in C++20: group, join, parallel_for, parallel_reduce,
 * parallel_invoke. Part of pool.hpp.
 *
 * Everything here returns when all parts have ended, also when one of them threw: then it throws
 * the first exception.
 */
#ifndef VIGIL_FORK_HPP
#define VIGIL_FORK_HPP

#include <vigil/pool.hpp>

namespace vigil
{

/*
 * A group of tasks that is waited for together: vigil_group with lambdas. The destructor waits, so
 * what the lambdas refer to may live in the same scope. One allocation per task, freed by the wait;
 * the function object itself is destroyed right after it ran.
 */
class group
{
  public:
    explicit group(pool_ref pool, unsigned flags = 0)
    {
        check(vigil_group_init(&group_, pool.get(), flags), "making a group");
    }
    group(const group &) = delete;
    group &operator=(const group &) = delete;
    ~group()
    {
        (void)try_wait();
    }

    /* Fork: to the worker's own deque, newest first; see vigil_group_spawn. */
    template <std::invocable F> void spawn(F &&fn)
    {
        add(std::forward<F>(fn), [this](vigil_task *it) { return vigil_group_spawn(&group_, it); });
    }
    /* Through the pool's queue, in order. */
    template <std::invocable F> void submit(F &&fn, priority level = normal)
    {
        add(std::forward<F>(fn),
            [&](vigil_task *it) { return vigil_group_submit(&group_, it, level); });
    }

    /* Join. Throws what a task threw first, or vigil::error with a task's negative status
       (-ECANCELED: the pool stopped first). */
    void wait()
    {
        const int status = try_wait();
        if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr))
            std::rethrow_exception(thrown);
        check(status, "a task of a group");
    }
    /* The same; false: the time ran out, and the group is as it was. */
    bool wait_for(std::chrono::nanoseconds timeout)
    {
        const int rc = vigil_group_wait_for(&group_, timeout.count());
        if (rc == -ETIMEDOUT)
            return false;
        const int status = finish(rc);
        if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr))
            std::rethrow_exception(thrown);
        check(status, "a task of a group");
        return true;
    }
    /* Join; 0 or the first failure's status. An exception is kept for the next wait(). */
    int try_wait() noexcept
    {
        return finish(vigil_group_wait(&group_));
    }

  private:
    struct node : vigil_task {
        node *next = nullptr;
        group *owner = nullptr;
        void (*destroy)(node *) noexcept = nullptr;
    };
    template <class F> struct work final : node {
        std::optional<F> fn;
        template <class A>
        explicit work(std::in_place_t, A &&from) : fn(std::in_place, std::forward<A>(from))
        {
            vigil_task_init(this, run, cancel);
            this->destroy = [](node *it) noexcept { delete static_cast<work *>(it); };
        }
        static int run(vigil_task *task) noexcept
        {
            work *self = static_cast<work *>(task);
            int status = 0;
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<F &>>)
                    (*self->fn)();
                else
                    status = detail::returned((*self->fn)());
            } catch (...) {
                std::exception_ptr thrown;
                status = detail::failed(&thrown);
                self->owner->note(status, thrown);
            }
            self->fn.reset();
            if (status == -ETIMEDOUT || status == -ECHILD) {
                /* In the answer of a wait these two mean something else. */
                self->owner->note(status, nullptr);
                return -EIO;
            }
            return status;
        }
        static void cancel(vigil_task *task) noexcept
        {
            static_cast<work *>(task)->fn.reset();
        }
    };

    template <class F, class Add> void add(F &&fn, Add &&enqueue)
    {
        using D = std::decay_t<F>;
        auto made = std::make_unique<work<D>>(std::in_place, std::forward<F>(fn));
        made->owner = this;
        check(enqueue(made.get()), "adding a task to a group");
        /* relaxed: the list is walked by who waits, behind the end of every task that added to
           it */
        node *it = made.release();
        it->next = nodes_.load(std::memory_order_relaxed);
        while (!nodes_.compare_exchange_weak(it->next, it, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        }
    }
    void note(int status, const std::exception_ptr &thrown) noexcept
    {
        int none = 0;
        /* relaxed: the winner alone writes thrown_, and the end of its task publishes both */
        if (status_.compare_exchange_strong(none, status, std::memory_order_relaxed,
                                            std::memory_order_relaxed))
            thrown_ = thrown;
    }
    int finish(int rc) noexcept
    {
        if (rc == -ECHILD)
            return rc; /* the tasks are the parent's, and may never end here */
        for (node *it = nodes_.exchange(nullptr, std::memory_order_relaxed); it != nullptr;) {
            node *gone = std::exchange(it, it->next);
            gone->destroy(gone);
        }
        const int status = status_.exchange(0, std::memory_order_relaxed);
        return rc < 0 && status < 0 ? status : rc;
    }

    vigil_group group_{};
    std::atomic<node *> nodes_{nullptr};
    std::atomic<int> status_{0};
    std::exception_ptr thrown_;
};

namespace detail
{
template <class F> struct half {
    F *fn;
    std::exception_ptr thrown;

    static int run(void *arg) noexcept
    {
        half *self = static_cast<half *>(arg);
        try {
            (*self->fn)();
            return 0;
        } catch (...) {
            return failed(&self->thrown);
        }
    }
};
} // namespace detail

/* Call a and b, perhaps at the same time, and return when both have ended. No allocation. What a
   threw is thrown, else what b threw. See vigil_join. */
template <std::invocable A, std::invocable B> void join(pool_ref pool, A &&a, B &&b)
{
    detail::half<std::remove_reference_t<A>> left{&a, nullptr};
    detail::half<std::remove_reference_t<B>> right{&b, nullptr};
    const int rc = vigil_join(pool.get(), left.run, &left, right.run, &right);
    if (left.thrown)
        std::rethrow_exception(left.thrown);
    if (right.thrown)
        std::rethrow_exception(right.thrown);
    check(rc, "joining two calls");
}

/* Call all of them, perhaps at the same time, and return when all have ended. */
template <std::invocable F> void parallel_invoke(pool_ref, F &&fn)
{
    fn();
}
template <std::invocable F, std::invocable... Rest>
void parallel_invoke(pool_ref pool, F &&fn, Rest &&...rest)
{
    join(pool, fn, [&] { parallel_invoke(pool, rest...); });
}

namespace detail
{
/* Counted from zero in 64 bits, so that no range of any type overflows. */
template <class I> struct span_of {
    I first;
    std::uint64_t count;
    std::uint64_t grain;

    span_of(pool_ref pool, I from, I to, std::uint64_t wanted)
        : first(from),
          count(to > from ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) : 0),
          grain(wanted)
    {
        /* Pieces small enough to be shared out evenly, large enough to be worth it. */
        if (grain == 0)
            grain = count / (8 * (std::uint64_t{pool.workers()} + 1));
        if (grain == 0)
            grain = 1;
    }
    I at(std::uint64_t offset) const noexcept
    {
        return static_cast<I>(static_cast<std::uint64_t>(first) + offset);
    }
};

template <class I, class F>
void split_for(pool_ref pool, const span_of<I> &span, std::uint64_t from, std::uint64_t to, F &fn,
               std::atomic<bool> &failed)
{
    if (failed.load(std::memory_order_relaxed)) // a hint: what has not begun need not begin
        return;
    if (to - from <= span.grain) {
        try {
            for (std::uint64_t offset = from; offset != to; offset++)
                fn(span.at(offset));
        } catch (...) {
            failed.store(true, std::memory_order_relaxed);
            throw;
        }
        return;
    }
    const std::uint64_t middle = from + (to - from) / 2;
    join(
        pool, [&] { split_for(pool, span, from, middle, fn, failed); },
        [&] { split_for(pool, span, middle, to, fn, failed); });
}

template <class I, class T, class Map, class Combine>
T split_reduce(pool_ref pool, const span_of<I> &span, std::uint64_t from, std::uint64_t to,
               const T &identity, Map &map, Combine &combine)
{
    if (to - from <= span.grain) {
        T sum = identity;
        for (std::uint64_t offset = from; offset != to; offset++)
            sum = combine(std::move(sum), map(span.at(offset)));
        return sum;
    }
    const std::uint64_t middle = from + (to - from) / 2;
    std::optional<T> left;
    std::optional<T> right;
    join(
        pool, [&] { left.emplace(split_reduce(pool, span, from, middle, identity, map, combine)); },
        [&] { right.emplace(split_reduce(pool, span, middle, to, identity, map, combine)); });
    return combine(std::move(*left), std::move(*right));
}
} // namespace detail

/* Call fn(i) for each i from first to before last, on all workers. A piece of at most `grain` is
   done by one of them in order (0: chosen by the size of the pool). After an exception pieces
   that have not begun are left out. */
template <std::integral I, std::invocable<I> F>
void parallel_for(pool_ref pool, I first, std::type_identity_t<I> last, F &&fn,
                  std::uint64_t grain = 0)
{
    const detail::span_of<I> span(pool, first, last, grain);
    std::atomic<bool> failed{false};
    if (span.count > 0)
        detail::split_for(pool, span, 0, span.count, fn, failed);
}

/* combine(... combine(identity, map(first)) ..., map(last - 1)), in pieces: combine must be
   associative, identity neutral. The pieces are put together in order. */
template <std::integral I, class T, std::invocable<I> Map, class Combine>
T parallel_reduce(pool_ref pool, I first, std::type_identity_t<I> last, T identity, Map &&map,
                  Combine &&combine, std::uint64_t grain = 0)
{
    const detail::span_of<I> span(pool, first, last, grain);
    return detail::split_reduce(pool, span, 0, span.count, identity, map, combine);
}

} // namespace vigil

#endif
