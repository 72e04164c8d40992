/* SPDX-License-Identifier: MIT */
/*
 * vigil/fork.hpp - fork and join in C++20: group, forked, join, parallel_invoke. Part of pool.hpp;
 * loops are in parallel.hpp.
 *
 * Everything here returns when all parts have ended, also when one of them threw: then it throws
 * the first exception.
 */
#ifndef VIGIL_FORK_HPP
#define VIGIL_FORK_HPP

#include <cstdlib>
#include <exception>
#include <new>
#include <utility>
#include <vigil/pool.hpp>

namespace vigil
{

/*
 * A group of tasks that is waited for together: vigil_group with lambdas. The destructor waits, so
 * what the lambdas refer to may live in the same scope. The first few tasks between two waits lie in
 * the group itself, the others are allocated one by one; what is forked never is. The function object is
 * destroyed right after it ran.
 */
class group
{
    struct node;
    template <class F> struct work;

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

    /* Leave out what has not begun; wait() then throws vigil::error -ECANCELED. See
       vigil_group_cancel, and VIGIL_GROUP_CANCEL_ON_FAILURE for the flags. */
    void cancel()
    {
        check(vigil_group_cancel(&group_), "cancelling a group");
    }
    bool cancelled() const
    {
        return check(vigil_group_cancelled(&group_), "looking at a group") > 0;
    }
    /* For wait_any. */
    vigil_group *get() noexcept
    {
        return &group_;
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
    template <class F> friend class forked;
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
        static void destroy_in_place(node *it) noexcept
        {
            static_cast<work *>(it)->~work();
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

    /* A place in the group, or nullptr. */
    void *place(std::size_t bytes, std::size_t alignment) noexcept
    {
        bytes = (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
        if (bytes > sizeof room_ || alignment > alignof(std::max_align_t))
            return nullptr;
        /* relaxed: it only hands out places, and finish() resets it behind the end of every task */
        if (used_.load(std::memory_order_relaxed) + bytes > sizeof room_)
            return nullptr;
        const std::size_t at = used_.fetch_add(bytes, std::memory_order_relaxed);
        return at + bytes <= sizeof room_ ? room_ + at : nullptr;
    }

    template <class F, class Add> void add(F &&fn, Add &&enqueue)
    {
        using W = work<std::decay_t<F>>;
        W *made;
        if (void *at = place(sizeof(W), alignof(W))) {
            made = new (at) W(std::in_place, std::forward<F>(fn));
            made->destroy = W::destroy_in_place;
        } else {
            made = new W(std::in_place, std::forward<F>(fn));
        }
        made->owner = this;
        const int rc = enqueue(made);
        if (rc < 0) {
            made->destroy(made);
            check(rc, "adding a task to a group");
        }
        /* relaxed: the list is walked by who waits, behind the end of every task that added to
           it */
        node *it = made;
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
        used_.store(0, std::memory_order_relaxed);
        const int status = status_.exchange(0, std::memory_order_relaxed);
        return rc < 0 && status < 0 ? status : rc;
    }

    vigil_group group_{};
    std::atomic<node *> nodes_{nullptr};
    std::atomic<int> status_{0};
    std::exception_ptr thrown_;
    std::atomic<std::size_t> used_{0};
    alignas(std::max_align_t) unsigned char room_[512];
};

/*
 * A task of a group in memory of your own, usually on the stack: nothing is allocated. It is spawned
 * when it is made. Declare it behind its group: the destructor waits for the group, if nobody has.
 *
 *     vigil::group group(pool);
 *     vigil::forked left(group, [&] { a = f(n - 1); });
 *     b = f(n - 2);
 *     group.wait();
 */
template <class F> class forked
{
  public:
    template <class A> forked(group &owner, A &&fn) : work_(std::in_place, std::forward<A>(fn))
    {
        work_.owner = &owner;
        check(vigil_group_spawn(&owner.group_, &work_), "forking a task of a group");
    }
    forked(const forked &) = delete;
    forked &operator=(const forked &) = delete;
    ~forked()
    {
        (void)work_.owner->try_wait();
    }

  private:
    group::work<F> work_;
};
template <class A> forked(group &, A &&) -> forked<std::decay_t<A>>;

namespace detail
{
template <class F> struct half {
    F *fn;
    bool threw = false;
    union {
        std::exception_ptr thrown; /* exists if it threw */
    };

    explicit half(F *call) noexcept : fn(call)
    {
    }
    ~half()
    {
    }
    half(const half &) = delete;
    half &operator=(const half &) = delete;

    static int run(void *arg) noexcept
    {
        half *self = static_cast<half *>(arg);
        try {
            (*self->fn)();
            return 0;
        } catch (...) {
            self->threw = true;
            return failed(new (&self->thrown) std::exception_ptr);
        }
    }

    /* What it threw, if it did; once. */
    std::exception_ptr take() noexcept
    {
        if (!threw)
            return nullptr;
        std::exception_ptr taken = std::move(thrown);
        thrown.~exception_ptr();
        return taken;
    }
};

template <class A, class B>
[[noreturn]] __attribute__((cold)) void join_failed(A &left, B &right, int rc)
{
    const std::exception_ptr first = left.take();
    const std::exception_ptr second = right.take();
    if (first)
        std::rethrow_exception(first);
    if (second)
        std::rethrow_exception(second);
    check(rc, "joining two calls");
    std::abort();
}
} // namespace detail

/* Call a and b, perhaps at the same time, and return when both have ended. No allocation. What a
   threw is thrown, else what b threw. See vigil_join. Both are inlined here, and this is not inlined
   in its caller, whose serial part would pay for the frame of the join. */
template <std::invocable A, std::invocable B>
__attribute__((noinline)) void join(pool_ref pool, A &&a, B &&b)
{
    detail::half<std::remove_reference_t<A>> left(&a);
    detail::half<std::remove_reference_t<B>> right(&b);
    const int rc = vigil_join(pool.get(), left.run, &left, right.run, &right);
    if (rc != 0) [[unlikely]]
        detail::join_failed(left, right, rc);
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

} // namespace vigil

#include <vigil/parallel.hpp>

#endif
