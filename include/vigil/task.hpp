/* SPDX-License-Identifier: MIT */
/*
 * vigil/task.hpp - task<T>, the coroutine type of Vigil, and what starts one.
 *
 *     vigil::task<int> answer(vigil::pool_ref pool)
 *     {
 *         co_await pool;                    -- from here on a worker
 *         co_return 6 * 7;
 *     }
 *     int n = vigil::sync_wait(answer(pool));
 *
 * A task is lazy: it begins when it is awaited, once, or given to sync_wait, detach, when_all, an
 * async_scope or loop.run. Its starter owns it to its end; there is no way to drop one that
 * has begun. So every wait has an end: where a pool or a loop can't keep its word because it stops,
 * the co_await throws vigil::error (-ECANCELED: the work had been accepted, -ESHUTDOWN: it was
 * refused or the loop has ended), the coroutine unwinds like any function, and no frame is left
 * behind.
 *
 * An exception goes to the awaiter. Of a detached task, which nobody awaits: -ECANCELED and
 * -ESHUTDOWN are its ordinary end; any other exception goes where an exception of the callback that
 * resumed it would go (on_failure, on_uncaught; error.hpp), or out of detach() itself if it came
 * before the first suspension.
 *
 * A coroutine continues where its last co_await has put it: after `co_await pool` on a worker,
 * after `co_await loop` on the loop, after the await of another task wherever that one ended.
 *
 * How the stack stays small. To hand control from one coroutine to another by returning its handle
 * (symmetric transfer) costs no stack only where the compiler makes it a tail call: not in debug
 * builds, not under sanitizers. So a coroutine is resumed here in a loop (`driver`): a
 * coroutine that awaits a task, or ends, leaves the next one there and returns. A loop over a
 * million awaits and a recursion a million deep both run in constant stack, in every build; and
 * when a frame is destroyed, nothing of it is on the stack any more. A coroutine that was resumed
 * by somebody else, for whom no driver waits, brings its own.
 *
 * await_suspend functions are not inlined: compilers may otherwise keep their variables in the
 * coroutine's frame, which another thread may have destroyed by then.
 */
#ifndef VIGIL_TASK_HPP
#define VIGIL_TASK_HPP

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <tuple>
#include <vector>

#include <vigil/pool.hpp>

#define VIGIL_NOINLINE __attribute__((noinline))

namespace vigil
{

template <class T = void> class task;
void detach(task<void> work);

namespace detail
{
/* ---- who runs next on this thread ------------------------------------------------------------ */

/* Resumes a coroutine, and then whatever that one hands over to. On the stack of a callback, or
   of the caller that starts a task. */
class driver
{
  public:
    VIGIL_NOINLINE static void drive(std::coroutine_handle<> first) noexcept
    {
        driver self;
        self.outer_ = current();
        self.next_ = first;
        current() = &self;
        while (self.next_) {
            const std::coroutine_handle<> it = std::exchange(self.next_, nullptr);
            self.running_ = it.address();
            it.resume();
        }
        current() = self.outer_;
    }
    /* `from` is suspended, and `to` runs: when from has returned to its driver, if one has
       resumed it; here and now otherwise. To be the last thing that is done; from may even be
       destroyed already. */
    VIGIL_NOINLINE static void hand_over(std::coroutine_handle<> from,
                                         std::coroutine_handle<> to) noexcept
    {
        driver *mine = current();
        if (mine != nullptr && mine->running_ == from.address() && !mine->next_)
            mine->next_ = to;
        else
            drive(to);
    }

  private:
    static driver *&current() noexcept
    {
        static constinit thread_local driver *innermost = nullptr;
        return innermost;
    }
    driver *outer_ = nullptr;
    void *running_ = nullptr;
    std::coroutine_handle<> next_;
};

/* ---- who is being started on this thread ----------------------------------------------------- */

/* Lies on the stack of a caller that starts several things and would go on without suspending if they
   all end at once. What is started keeps address and ticket: tickets are never used twice, so a
   record that is gone is never taken for another one. */
class starting
{
  public:
    VIGIL_NOINLINE starting() noexcept : outer_(top()), ticket_(next_ticket())
    {
        top() = this;
    }
    starting(const starting &) = delete;
    starting &operator=(const starting &) = delete;

    struct name {
        const starting *record = nullptr;
        std::uint64_t ticket = 0;
    };
    name id() const noexcept
    {
        return {this, ticket_};
    }
    /* It has ended inside the call that started it. To be asked once, and the last that is done
       with the record. */
    VIGIL_NOINLINE bool over() noexcept
    {
        top() = outer_;
        return ended_;
    }
    /* What was started under this name ends: true if its starter is below us on this stack, and
       will go on by itself. */
    VIGIL_NOINLINE static bool ends(name it) noexcept
    {
        starting *innermost = top();
        if (innermost == nullptr || innermost != it.record || innermost->ticket_ != it.ticket)
            return false;
        innermost->ended_ = true;
        return true;
    }

  private:
    static starting *&top() noexcept
    {
        static constinit thread_local starting *innermost = nullptr;
        return innermost;
    }
    static std::uint64_t next_ticket() noexcept
    {
        static constinit std::atomic<std::uint64_t> threads{1};
        static constinit thread_local std::uint64_t last = 0;
        if (last == 0)
            last = threads.fetch_add(1, std::memory_order_relaxed) << 40U;
        return ++last;
    }
    starting *outer_;
    std::uint64_t ticket_;
    bool ended_ = false;
};

/* ---- ending as the last act: roots ----------------------------------------------------------- */

/* Resume a coroutine from a C callback. 0, or the status of a detached task that ended here by
   an exception. */
inline int resume_here(std::coroutine_handle<> it) noexcept
{
    driver::drive(it);
    uncaught_slot &slot = uncaught();
    if (!slot.pending)
        return 0;
    slot.pending = false;
    return status_of(slot.exception);
}

/* What ended a coroutine that nobody awaits. */
inline void note_uncaught(std::exception_ptr thrown) noexcept
{
    const int status = status_of(thrown);
    if (status == -ECANCELED || status == -ESHUTDOWN)
        return;
    uncaught().exception = std::move(thrown);
    uncaught().pending = true;
}

/* A coroutine that nobody owns once it has been started: at its end it is destroyed, and calls
   then(arg), which may name the coroutine that goes on. */
struct root {
    struct promise_type {
        std::coroutine_handle<> (*then)(void *) = nullptr;
        void *arg = nullptr;

        root get_return_object() noexcept
        {
            return root(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        struct last {
            bool await_ready() noexcept
            {
                return false;
            }
            VIGIL_NOINLINE void await_suspend(std::coroutine_handle<promise_type> done) noexcept
            {
                const promise_type kept = done.promise();
                done.destroy();
                if (kept.then == nullptr)
                    return;
                if (const std::coroutine_handle<> next = kept.then(kept.arg))
                    driver::hand_over(done, next);
            }
            void await_resume() noexcept
            {
            }
        };
        last final_suspend() noexcept
        {
            return {};
        }
        void return_void() noexcept
        {
        }
        void unhandled_exception() noexcept
        {
            note_uncaught(std::current_exception());
        }
    };

    root(root &&other) noexcept : it_(std::exchange(other.it_, nullptr))
    {
    }
    root(const root &) = delete;
    root &operator=(const root &) = delete;
    root &operator=(root &&) = delete;
    ~root()
    {
        if (it_)
            it_.destroy();
    }
    void start(std::coroutine_handle<> (*then)(void *), void *arg) noexcept
    {
        const std::coroutine_handle<promise_type> it = std::exchange(it_, nullptr);
        it.promise().then = then;
        it.promise().arg = arg;
        driver::drive(it);
    }

  private:
    explicit root(std::coroutine_handle<promise_type> it) noexcept : it_(it)
    {
    }
    std::coroutine_handle<promise_type> it_;
};

/* ---- task<T> --------------------------------------------------------------------------------- */

struct task_promise_base {
    std::coroutine_handle<> continuation; /* null: it was detached, and ends by itself */
    std::exception_ptr thrown;

    std::suspend_always initial_suspend() noexcept
    {
        return {};
    }
    struct last {
        bool await_ready() noexcept
        {
            return false;
        }
        template <class P> VIGIL_NOINLINE void await_suspend(std::coroutine_handle<P> it) noexcept
        {
            task_promise_base &self = it.promise();
            if (self.continuation) {
                driver::hand_over(it, self.continuation);
                return;
            }
            std::exception_ptr left = std::move(self.thrown);
            it.destroy();
            if (left)
                note_uncaught(std::move(left));
        }
        void await_resume() noexcept
        {
        }
    };
    last final_suspend() noexcept
    {
        return {};
    }
    void unhandled_exception() noexcept
    {
        thrown = std::current_exception();
    }
};

template <class T> struct task_promise : task_promise_base {
    using kept = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *, T>;
    std::optional<kept> value;

    task<T> get_return_object() noexcept;
    template <std::convertible_to<T> V> void return_value(V &&from)
    {
        if constexpr (std::is_reference_v<T>)
            value.emplace(std::addressof(static_cast<T>(from)));
        else
            value.emplace(std::forward<V>(from));
    }
    T take()
    {
        if (thrown)
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(**value);
        else
            return std::move(*value);
    }
};

template <> struct task_promise<void> : task_promise_base {
    task<void> get_return_object() noexcept;
    void return_void() noexcept
    {
    }
    void take()
    {
        if (thrown)
            std::rethrow_exception(std::exchange(thrown, nullptr));
    }
};
} // namespace detail

template <class T> class [[nodiscard]] task
{
  public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;

    task() noexcept = default;
    task(task &&other) noexcept : it_(std::exchange(other.it_, nullptr))
    {
    }
    task &operator=(task &&other) noexcept
    {
        std::swap(it_, other.it_);
        return *this;
    }
    task(const task &) = delete;
    task &operator=(const task &) = delete;
    ~task()
    {
        if (it_)
            it_.destroy();
    }
    explicit operator bool() const noexcept
    {
        return static_cast<bool>(it_);
    }

    /* co_await std::move(task): once. */
    auto operator co_await() &&
    {
        struct awaiter {
            std::coroutine_handle<promise_type> it;

            bool await_ready() const
            {
                if (!it)
                    throw error(-EINVAL, "awaiting a task that is empty, or was moved from");
                if (it.promise().continuation)
                    throw error(-EBUSY, "awaiting a task twice");
                return false;
            }
            void await_suspend(std::coroutine_handle<> waiting) const noexcept
            {
                it.promise().continuation = waiting;
                detail::driver::hand_over(waiting, it);
            }
            T await_resume()
            {
                return it.promise().take();
            }
        };
        return awaiter{it_};
    }

  private:
    friend promise_type;
    friend void detach(task<void> work);
    explicit task(std::coroutine_handle<promise_type> it) noexcept : it_(it)
    {
    }
    std::coroutine_handle<promise_type> it_;
};

template <class T> task<T> detail::task_promise<T>::get_return_object() noexcept
{
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> detail::task_promise<void>::get_return_object() noexcept
{
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/* ---- starting one ---------------------------------------------------------------------------- */

namespace detail
{
/* Where a task's end is kept for somebody who is no coroutine. */
template <class T> struct outcome {
    std::exception_ptr thrown;
    std::optional<stored<T>> value;

    T take()
    {
        if (thrown)
            std::rethrow_exception(thrown);
        if constexpr (!std::is_void_v<T>)
            return std::move(*value);
    }
};

template <class T> root run_into(task<T> work, outcome<T> &to)
{
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            to.value.emplace();
        } else {
            to.value.emplace(co_await std::move(work));
        }
    } catch (...) {
        to.thrown = std::current_exception();
    }
}

struct flag {
    std::atomic<int> up{0};

    static std::coroutine_handle<> raise(void *arg) noexcept
    {
        flag *self = static_cast<flag *>(arg);
        self->up.store(
            1, std::memory_order_release); /* what the task wrote; pairs with the acquire in wait */
        self->up.notify_one();             /* by address alone: who waits may be gone */
        return nullptr;
    }
    void wait() const noexcept
    {
        up.wait(0, std::memory_order_acquire); /* pairs with the release in raise */
    }
};
} // namespace detail

/* Run a task from a plain thread: blocks until its end, gives its value or throws its exception.
   On a worker it says that it blocks. Never on the thread of a loop that the task needs: use
   loop.run(). */
template <class T> T sync_wait(task<T> work)
{
    static_assert(!std::is_reference_v<T>, "sync_wait gives a value");
    detail::outcome<T> outcome;
    detail::flag done;
    detail::run_into(std::move(work), outcome).start(detail::flag::raise, &done);
    const bool blocks = vigil_blocking_begin() == 0;
    done.wait();
    if (blocks)
        (void)vigil_blocking_end();
    return outcome.take();
}

/* Begin a task here and now, and let it run alone. What it throws before it first suspends is
   thrown here. */
inline void detach(task<void> work)
{
    if (!work)
        throw error(-EINVAL, "starting a task that is empty, or was moved from");
    detail::driver::drive(std::exchange(work.it_, nullptr));
    detail::uncaught_slot &slot = detail::uncaught();
    if (std::exchange(slot.pending, false))
        std::rethrow_exception(std::exchange(slot.exception, nullptr));
}

} // namespace vigil

#include <vigil/await.hpp>

#endif
