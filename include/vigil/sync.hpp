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
#include <cstdint>
#include <optional>
#include <type_traits>

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
    /* co_await it; whoever goes on unlocks. Owner of the loop. */
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
