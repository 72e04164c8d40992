/* SPDX-License-Identifier: MIT */
/*
 * vigil/sync.hpp - vigil/sync.h and vigil/channel.h for C++20.
 *
 *     vigil::mutex mutex;
 *     std::lock_guard hold(mutex);                  -- a thread or a task
 *
 *     co_await mutex.lock_on(loop);                 -- a coroutine on a loop
 *
 *     vigil::channel<int> numbers(8);
 *     numbers.send(1);
 *     while (auto number = numbers.receive()) ...   -- until it is closed and empty
 */
#ifndef VIGIL_SYNC_HPP
#define VIGIL_SYNC_HPP

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>

#include <vigil/async.h>
#include <vigil/channel.h>
#include <vigil/promise.hpp>
#include <vigil/sync.h>

namespace vigil
{

/* A TimedLockable: std::lock_guard, std::unique_lock and std::scoped_lock work with it. */
class mutex
{
  public:
    mutex() = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock()
    {
        check(vigil_mutex_lock(&mutex_), "locking a mutex");
    }
    bool try_lock()
    {
        return try_lock_for(std::chrono::nanoseconds(0));
    }
    bool try_lock_for(std::chrono::nanoseconds time, token_ref token = {})
    {
        const int rc = vigil_mutex_lock_timed(&mutex_, time.count(), token.get());
        return rc != -ETIMEDOUT && rc != -EDEADLK && check(rc, "locking a mutex") == 0;
    }
    void unlock()
    {
        check(vigil_mutex_unlock(&mutex_), "unlocking a mutex");
    }
    /* co_await it; the coroutine unlocks. Owner of the loop. */
    promise lock_on(loop_ref loop, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_lock(loop.get(), &mutex_, token.get(), &made), "locking a mutex");
        return promise::adopt(made);
    }
    vigil_mutex *get() noexcept
    {
        return &mutex_;
    }

  private:
    vigil_mutex mutex_ = VIGIL_MUTEX_INIT;
};

class semaphore
{
  public:
    explicit semaphore(std::uint64_t units, std::uint64_t limit = 0)
    {
        check(vigil_semaphore_init(&semaphore_, units, limit), "making a semaphore");
    }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    void acquire(std::uint64_t units = 1, token_ref token = {})
    {
        check(vigil_semaphore_acquire(&semaphore_, units, VIGIL_FOREVER, token.get()),
              "acquiring units");
    }
    bool try_acquire(std::uint64_t units = 1)
    {
        const int rc = vigil_semaphore_acquire(&semaphore_, units, 0, nullptr);
        return rc != -ETIMEDOUT && check(rc, "acquiring units") == 0;
    }
    void post(std::uint64_t units = 1)
    {
        check(vigil_semaphore_post(&semaphore_, units), "posting units");
    }
    /* co_await it. Owner of the loop. */
    promise acquire_on(loop_ref loop, std::uint64_t units = 1, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_acquire(loop.get(), &semaphore_, units, token.get(), &made),
              "acquiring units");
        return promise::adopt(made);
    }
    vigil_semaphore *get() noexcept
    {
        return &semaphore_;
    }

  private:
    vigil_semaphore semaphore_ = VIGIL_SEMAPHORE_INIT(0);
};

/* A SharedTimedLockable in part: std::shared_lock and std::unique_lock work with it. */
class rwlock
{
  public:
    rwlock() = default;
    rwlock(const rwlock &) = delete;
    rwlock &operator=(const rwlock &) = delete;

    void lock()
    {
        check(vigil_rwlock_write(&lock_, VIGIL_FOREVER, nullptr), "locking for writing");
    }
    bool try_lock()
    {
        const int rc = vigil_rwlock_write(&lock_, 0, nullptr);
        return rc != -ETIMEDOUT && rc != -EDEADLK && check(rc, "locking for writing") == 0;
    }
    void unlock()
    {
        check(vigil_rwlock_unlock(&lock_), "unlocking");
    }
    void lock_shared()
    {
        check(vigil_rwlock_read(&lock_, VIGIL_FOREVER, nullptr), "locking for reading");
    }
    bool try_lock_shared()
    {
        const int rc = vigil_rwlock_read(&lock_, 0, nullptr);
        return rc != -ETIMEDOUT && rc != -EDEADLK && check(rc, "locking for reading") == 0;
    }
    void unlock_shared()
    {
        unlock();
    }
    /* co_await them; the coroutine unlocks. Owner of the loop. */
    promise lock_on(loop_ref loop, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_write_lock(loop.get(), &lock_, token.get(), &made),
              "locking for writing");
        return promise::adopt(made);
    }
    promise lock_shared_on(loop_ref loop, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_read_lock(loop.get(), &lock_, token.get(), &made),
              "locking for reading");
        return promise::adopt(made);
    }
    vigil_rwlock *get() noexcept
    {
        return &lock_;
    }

  private:
    vigil_rwlock lock_ = VIGIL_RWLOCK_INIT;
};

class condition
{
  public:
    condition() = default;
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;

    /* The caller holds the mutex, before and after. */
    void wait(mutex &mutex, token_ref token = {})
    {
        check(vigil_condition_wait(&condition_, mutex.get(), VIGIL_FOREVER, token.get()),
              "waiting for a condition");
    }
    template <class P> void wait(mutex &mutex, P until, token_ref token = {})
    {
        while (!until())
            wait(mutex, token);
    }
    /* False: the time is up. */
    bool wait_for(mutex &mutex, std::chrono::nanoseconds time, token_ref token = {})
    {
        const int rc = vigil_condition_wait(&condition_, mutex.get(), time.count(), token.get());
        return rc != -ETIMEDOUT && check(rc, "waiting for a condition") == 0;
    }
    /* co_await it in a coroutine that has awaited mutex.lock_on. Owner of the loop. */
    promise wait_on(loop_ref loop, mutex &mutex, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_condition(loop.get(), &condition_, mutex.get(), token.get(), &made),
              "waiting for a condition");
        return promise::adopt(made);
    }
    void notify_one() noexcept
    {
        (void)vigil_condition_signal(&condition_);
    }
    void notify_all() noexcept
    {
        (void)vigil_condition_broadcast(&condition_);
    }
    vigil_condition *get() noexcept
    {
        return &condition_;
    }

  private:
    vigil_condition condition_ = VIGIL_CONDITION_INIT;
};

class latch
{
  public:
    explicit latch(std::uint64_t count)
    {
        check(vigil_latch_init(&latch_, count), "making a latch");
    }
    latch(const latch &) = delete;
    latch &operator=(const latch &) = delete;

    void count_down(std::uint64_t by = 1)
    {
        check(vigil_latch_down(&latch_, by), "counting down");
    }
    bool try_wait()
    {
        const int rc = vigil_latch_wait(&latch_, 0, nullptr);
        return rc != -ETIMEDOUT && check(rc, "waiting for a latch") == 0;
    }
    void wait(token_ref token = {})
    {
        check(vigil_latch_wait(&latch_, VIGIL_FOREVER, token.get()), "waiting for a latch");
    }
    /* co_await it. Owner of the loop. */
    promise wait_on(loop_ref loop, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_latch(loop.get(), &latch_, token.get(), &made), "waiting for a latch");
        return promise::adopt(made);
    }
    vigil_latch *get() noexcept
    {
        return &latch_;
    }

  private:
    vigil_latch latch_ = VIGIL_LATCH_INIT(0);
};

class barrier
{
  public:
    explicit barrier(unsigned parties)
    {
        check(vigil_barrier_init(&barrier_, parties), "making a barrier");
    }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    /* True for the one that came last. */
    bool arrive_and_wait(token_ref token = {})
    {
        return check(vigil_barrier_wait(&barrier_, VIGIL_FOREVER, token.get()),
                     "waiting at a barrier") == 1;
    }
    /* co_await it: the integer 1 for the one that came last. Owner of the loop. */
    promise arrive_on(loop_ref loop, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_barrier(loop.get(), &barrier_, token.get(), &made),
              "waiting at a barrier");
        return promise::adopt(made);
    }
    vigil_barrier *get() noexcept
    {
        return &barrier_;
    }

  private:
    vigil_barrier barrier_ = VIGIL_BARRIER_INIT(1);
};

class rate
{
  public:
    rate(std::uint64_t units, std::chrono::nanoseconds per, std::uint64_t burst)
    {
        check(vigil_rate_init(&rate_, units, per.count(), burst), "making a rate");
    }
    rate(const rate &) = delete;
    rate &operator=(const rate &) = delete;

    void take(std::uint64_t units = 1, token_ref token = {})
    {
        check(vigil_rate_take(&rate_, units, VIGIL_FOREVER, token.get()), "taking from a rate");
    }
    bool try_take(std::uint64_t units = 1)
    {
        const int rc = vigil_rate_take(&rate_, units, 0, nullptr);
        return rc != -ETIMEDOUT && check(rc, "taking from a rate") == 0;
    }
    /* co_await it. Owner of the loop. */
    promise take_on(loop_ref loop, std::uint64_t units = 1, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_rate(loop.get(), &rate_, units, token.get(), &made),
              "taking from a rate");
        return promise::adopt(made);
    }
    vigil_rate *get() noexcept
    {
        return &rate_;
    }

  private:
    vigil_rate rate_ = VIGIL_RATE_INIT(1, 1, 1);
};

/* Every accepted task of the pool has ended (vigil_pool_wait_idle); co_await it. Owner of the
   loop. */
inline promise idle_on(loop_ref loop, pool_ref pool, token_ref token = {})
{
    vigil_promise *made = nullptr;
    check(vigil_promise_pool_idle(loop.get(), pool.get(), token.get(), &made),
          "waiting for an idle pool");
    return promise::adopt(made);
}

/* The graceful end of the pool begins, and has come (vigil_pool_shutdown); co_await it. Owner of
   the loop. */
inline promise stop_on(loop_ref loop, pool_ref pool, token_ref token = {})
{
    vigil_promise *made = nullptr;
    check(vigil_promise_pool_stop(loop.get(), pool.get(), token.get(), &made), "stopping a pool");
    return promise::adopt(made);
}

/* A call that happens once. A call that throws has not happened. */
class once
{
  public:
    once() = default;
    once(const once &) = delete;
    once &operator=(const once &) = delete;

    template <std::invocable F> void call(F &&fn, token_ref token = {})
    {
        struct work {
            F &fn;
            std::exception_ptr thrown = {};
            static int run(void *arg) noexcept
            {
                work *self = static_cast<work *>(arg);
                try {
                    self->fn();
                    return 0;
                } catch (...) {
                    self->thrown = std::current_exception();
                    return -EIO;
                }
            }
        } it{fn};
        const int rc = vigil_once_run(&once_, work::run, &it, VIGIL_FOREVER, token.get());
        if (it.thrown)
            std::rethrow_exception(it.thrown);
        check(rc, "a call that happens once");
    }
    /* The same with a function that returns a promise; co_await it. start stays until then. Owner
       of the loop. */
    template <std::invocable F>
    requires std::same_as<std::invoke_result_t<F &>, promise>
        promise call_on(loop_ref loop, F &start, token_ref token = {})
    {
        const vigil_promise_start_fn begin = [](vigil_loop *, void *arg, vigil_cancel_token *,
                                                vigil_promise **made) noexcept {
            try {
                *made = (*static_cast<F *>(arg))().release();
                return 0;
            } catch (...) {
                return status_of(std::current_exception());
            }
        };
        vigil_promise *made = nullptr;
        check(vigil_promise_once(loop.get(), &once_, begin, &start, token.get(), &made),
              "a call that happens once");
        return promise::adopt(made);
    }
    vigil_once *get() noexcept
    {
        return &once_;
    }

  private:
    vigil_once once_ = VIGIL_ONCE_INIT;
};

/* The index of the case that was done; co_await it. The cases stay until then. Owner of the
   loop. */
inline promise select_on(loop_ref loop, vigil_channel_case *cases, std::size_t count,
                         token_ref token = {})
{
    vigil_promise *made = nullptr;
    check(vigil_promise_select(loop.get(), cases, count, token.get(), &made),
          "selecting among channels");
    return promise::adopt(made);
}

/* Messages that can be copied byte by byte; send pointers to others. */
template <class T> class channel
{
    static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                  "a message is copied byte by byte: send a pointer");

  public:
    static constexpr std::size_t unbounded = VIGIL_CHANNEL_UNBOUNDED;

    explicit channel(std::size_t capacity)
    {
        check(vigil_channel_create(&channel_, sizeof(T), capacity), "making a channel");
    }
    ~channel()
    {
        vigil_channel_destroy(channel_);
    }
    channel(const channel &) = delete;
    channel &operator=(const channel &) = delete;

    /* False: the channel is closed. */
    bool send(const T &message, token_ref token = {})
    {
        const int rc = vigil_channel_send(channel_, &message, VIGIL_FOREVER, token.get());
        return rc != -EPIPE && check(rc, "sending a message") == 0;
    }
    /* Nothing: the channel is closed and empty. */
    std::optional<T> receive(token_ref token = {})
    {
        T message{};
        const int rc = vigil_channel_receive(channel_, VIGIL_FOREVER, token.get(), &message);
        if (rc == -EPIPE)
            return std::nullopt;
        check(rc, "receiving a message");
        return message;
    }
    /* co_await it; an error with -EPIPE: the channel is closed. The message stays as it is until
       then. Owner of the loop. */
    promise send_on(loop_ref loop, const T &message, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_send(loop.get(), channel_, &message, token.get(), &made),
              "sending a message");
        return promise::adopt(made);
    }
    promise receive_on(loop_ref loop, T &message, token_ref token = {})
    {
        vigil_promise *made = nullptr;
        check(vigil_promise_receive(loop.get(), channel_, &message, token.get(), &made),
              "receiving a message");
        return promise::adopt(made);
    }
    /* False: it was closed already. */
    bool close() noexcept
    {
        return vigil_channel_close(channel_) == 0;
    }
    vigil_channel *get() noexcept
    {
        return channel_;
    }

  private:
    vigil_channel *channel_ = nullptr;
};

} // namespace vigil

#endif
