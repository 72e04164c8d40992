/* SPDX-License-Identifier: MIT */
/*
 * vigil/loop.hpp - the loop in C++20: lambdas as callbacks, and timers, watches, signals and
 * children as objects that end with their scope. vigil/loop.h says what a loop promises; here is
 * only what C++ adds.
 *
 *     vigil::loop loop;
 *     auto beat = vigil::timer::every(loop, 1s, [&] { send_heartbeat(); });
 *     auto in = vigil::watch(loop, fd, VIGIL_FD_READ, [&](unsigned events) { read_some(fd); });
 *     loop.run();
 *
 * A function object may be move-only. It is moved into one allocation (none, for a post of
 * something that is trivially copyable and no larger than a pointer) and destroyed when it cannot
 * run any more: after it ran, when its object ends, when the loop ends.
 *
 * timer, signal and child belong to the owner's thread; a watch may end on any thread, but then its
 * callback may still be running at that moment, on the loop. Each may end inside its own callback.
 * None may outlive the loop.
 */
#ifndef VIGIL_LOOP_HPP
#define VIGIL_LOOP_HPP

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>

#include <vigil/error.hpp>
#include <vigil/loop.h>

namespace vigil
{

template <class T> class task;

namespace detail
{
template <class F> struct callback {
    F fn;

    static void run(void *arg)
    {
        guarded_callback([&] {
            const std::unique_ptr<callback> self(static_cast<callback *>(arg));
            self->fn();
        });
    }
    static void drop(void *arg) noexcept
    {
        delete static_cast<callback *>(arg);
    }
};

template <class F> void callback_from_pointer(void *bits)
{
    guarded_callback([&] {
        from_pointer<F> it(bits);
        it.fn();
    });
}

/* What an object and the C side share: the function lives until neither needs it. All of this
   happens on the owner. */
struct anchor {
    bool running = false;
    bool abandoned = false; /* its object has ended while it was running */

    virtual ~anchor() = default;
    void abandon() noexcept
    {
        if (running)
            abandoned = true;
        else
            delete this;
    }
    template <class Call> void enter(Call &&call)
    {
        guarded_callback([&] {
            struct leave {
                anchor *self;
                ~leave()
                {
                    self->running = false;
                    if (self->abandoned)
                        delete self;
                }
            };
            running = true;
            const leave at_end{this};
            call();
        });
    }
};
template <class F> struct anchored final : anchor {
    F fn;
    template <class A> explicit anchored(std::in_place_t, A &&from) : fn(std::forward<A>(from))
    {
    }
};

} // namespace detail

class loop_ref
{
  public:
    loop_ref(vigil_loop *loop) noexcept
        : loop_(loop) // NOLINT(google-explicit-constructor): it is only a name
    {
    }
    vigil_loop *get() const noexcept
    {
        return loop_;
    }

    /* Call fn on the loop. Any thread. If the loop ends first, it is destroyed without being
       called. */
    template <std::invocable F> void post(F &&fn) const
    {
        check(try_post(std::forward<F>(fn)), "posting to a loop");
    }
    template <std::invocable F> int try_post(F &&fn) const noexcept
    {
        return queue(vigil_loop_call, std::forward<F>(fn));
    }
    /* The owner's queues: after the callback that runs now (tick, microtask), after this turn's
       poll, at its end. */
    template <std::invocable F> void tick(F &&fn) const
    {
        check(queue(vigil_loop_tick_call, std::forward<F>(fn)), "queueing a tick");
    }
    template <std::invocable F> void microtask(F &&fn) const
    {
        check(queue(vigil_loop_microtask_call, std::forward<F>(fn)), "queueing a microtask");
    }
    template <std::invocable F> void immediate(F &&fn) const
    {
        check(queue(vigil_loop_immediate_call, std::forward<F>(fn)), "queueing an immediate");
    }
    template <std::invocable F> void defer(F &&fn) const
    {
        check(queue(vigil_loop_defer_call, std::forward<F>(fn)), "deferring a call");
    }

    /* True: it may be run again (paused, or something keeps it alive). */
    bool run(vigil_run_mode mode = VIGIL_RUN) const
    {
        return check(vigil_loop_run(loop_, mode), "running a loop") == 1;
    }
    /* Run a coroutine on the loop to its end; in await.hpp. */
    template <class T> T run(task<T> work) const;

    void pause() const
    {
        check(vigil_loop_pause(loop_), "pausing a loop");
    }
    /* False: the time ran out; a callback does not return. */
    bool shutdown(std::chrono::nanoseconds timeout = forever) const
    {
        const int rc = vigil_loop_shutdown(loop_, timeout.count());
        return rc != -ETIMEDOUT && check(rc, "shutting a loop down") >= 0;
    }
    bool close(std::chrono::nanoseconds timeout = forever) const
    {
        const int rc = vigil_loop_close(loop_, timeout.count());
        return rc != -ETIMEDOUT && check(rc, "closing a loop") >= 0;
    }
    bool is_owner() const noexcept
    {
        return vigil_loop_is_owner(loop_);
    }
    vigil_loop_state state() const noexcept
    {
        return vigil_loop_state_get(loop_);
    }
    /* What keeps it alive, one line each. Owner. */
    std::string explain() const
    {
        std::string text(static_cast<std::size_t>(
                             check(vigil_loop_explain(loop_, nullptr, 0), "explaining a loop")) +
                             1,
                         '\0');
        const int length =
            check(vigil_loop_explain(loop_, text.data(), text.size()), "explaining a loop");
        if (static_cast<std::size_t>(length) < text.size())
            text.resize(static_cast<std::size_t>(length));
        return text;
    }
    vigil_loop_stats stats() const
    {
        vigil_loop_stats it{};
        it.size = sizeof it;
        check(vigil_loop_stats_get(loop_, &it), "reading the loop's counters");
        return it;
    }

  protected:
    template <class Enqueue, class F> int queue(Enqueue *enqueue, F &&fn) const noexcept
    {
        using D = std::decay_t<F>;
        if constexpr (detail::fits_pointer<D>) {
            const D copy = fn;
            return enqueue(loop_, detail::callback_from_pointer<D>, nullptr,
                           detail::into_pointer(copy));
        } else {
            try {
                auto box = std::unique_ptr<detail::callback<D>>(
                    new detail::callback<D>{std::forward<F>(fn)});
                const int rc =
                    enqueue(loop_, detail::callback<D>::run, detail::callback<D>::drop, box.get());
                if (rc >= 0)
                    (void)box.release();
                return rc;
            } catch (...) {
                return status_of(std::current_exception());
            }
        }
    }
    vigil_loop *loop_;
};

/* Owns a loop. The destructor closes it if nobody has: what has not started is destroyed without
   being called. Destroying a loop that runs ends the program. */
class loop : public loop_ref
{
  public:
    loop() : loop_ref(nullptr)
    {
        check(vigil_loop_create(&loop_, nullptr), "making a loop");
    }
    explicit loop(const vigil_loop_options &options) : loop_ref(nullptr)
    {
        check(vigil_loop_create(&loop_, &options), "making a loop");
    }
    /* Take over a loop that was made in C. */
    static loop adopt(vigil_loop *made) noexcept
    {
        return loop(made);
    }
    loop(loop &&other) noexcept : loop_ref(std::exchange(other.loop_, nullptr))
    {
    }
    loop &operator=(loop &&other) noexcept
    {
        std::swap(loop_, other.loop_);
        return *this;
    }
    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;
    ~loop() noexcept // a throw ends the program, and says why
    {
        check(vigil_loop_destroy(loop_), "destroying a loop that runs");
    }
    vigil_loop *release() noexcept
    {
        return std::exchange(loop_, nullptr);
    }

  private:
    explicit loop(vigil_loop *made) noexcept : loop_ref(made)
    {
    }
};

/* Keeps a loop alive as long as it exists. Any thread. */
class keep_alive
{
  public:
    explicit keep_alive(loop_ref loop) : loop_(loop.get())
    {
        check(vigil_loop_ref(loop_), "keeping a loop alive");
    }
    keep_alive(keep_alive &&other) noexcept : loop_(std::exchange(other.loop_, nullptr))
    {
    }
    keep_alive &operator=(keep_alive &&other) noexcept
    {
        std::swap(loop_, other.loop_);
        return *this;
    }
    ~keep_alive()
    {
        if (loop_ != nullptr)
            (void)vigil_loop_unref(loop_);
    }

  private:
    vigil_loop *loop_;
};

namespace detail
{
/* What timer, signal and child have in common: an id, and an anchor. */
template <class Id, int (*Cancel)(vigil_loop *, Id)> class owned
{
  public:
    owned() noexcept = default;
    owned(owned &&other) noexcept
        : loop_(other.loop_), id_(std::exchange(other.id_, Id{0})),
          anchor_(std::exchange(other.anchor_, nullptr))
    {
    }
    owned &operator=(owned &&other) noexcept
    {
        std::swap(loop_, other.loop_);
        std::swap(id_, other.id_);
        std::swap(anchor_, other.anchor_);
        return *this;
    }
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    ~owned() noexcept // a throw ends the program, and says why
    {
        if (anchor_ == nullptr)
            return;
        const int rc = Cancel(loop_, id_);
        check(rc == -EPERM ? rc : 0,
              "destroying a timer, signal or child of a loop that runs on another thread");
        anchor_->abandon();
    }
    Id id() const noexcept
    {
        return id_;
    }
    /* Empty: default-constructed, or moved from. */
    explicit operator bool() const noexcept
    {
        return anchor_ != nullptr;
    }

  protected:
    vigil_loop *loop_ = nullptr;
    Id id_{0};
    anchor *anchor_ = nullptr;
};
} // namespace detail

/* A timer that ends with its scope. Owner. */
class [[nodiscard]] timer : public detail::owned<vigil_timer, vigil_timer_cancel>
{
  public:
    timer() noexcept = default;
    /* Call fn once, at or after `delay` from now. */
    template <std::invocable F> timer(loop_ref loop, std::chrono::nanoseconds delay, F &&fn)
    {
        vigil_timer_options options{};
        options.delay_ns = delay.count();
        start(loop, options, std::forward<F>(fn));
    }
    /* Again and again; see docs/loop.md on catching up. */
    template <std::invocable F>
    static timer every(loop_ref loop, std::chrono::nanoseconds interval, F &&fn)
    {
        vigil_timer_options options{};
        options.delay_ns = options.interval_ns = interval.count();
        timer made;
        made.start(loop, options, std::forward<F>(fn));
        return made;
    }
    template <std::invocable F> timer(loop_ref loop, const vigil_timer_options &options, F &&fn)
    {
        start(loop, options, std::forward<F>(fn));
    }

    /* As vigil_timer_cancel: true if it will not run (again). */
    bool cancel() const noexcept
    {
        return vigil_timer_cancel(loop_, id_) == 0;
    }
    /* Set the deadline anew, also of one that is due; inside its own callback it comes back to
       life. False: it has fired or was cancelled. */
    bool again(std::chrono::nanoseconds delay) const
    {
        const int rc = vigil_timer_again(loop_, id_, delay.count());
        return rc != -ESTALE && check(rc, "setting a timer again") >= 0;
    }

  private:
    template <class F> void start(loop_ref loop, vigil_timer_options options, F &&fn)
    {
        using box = detail::anchored<std::decay_t<F>>;
        auto made = std::make_unique<box>(std::in_place, std::forward<F>(fn));
        options.size = sizeof options;
        loop_ = loop.get();
        const auto fire = [](vigil_loop *, vigil_timer, void *arg) {
            box *self = static_cast<box *>(arg);
            self->enter([&] { self->fn(); });
        };
        check(vigil_timer_start_with(loop_, &options, fire, made.get(), &id_), "starting a timer");
        anchor_ = made.release();
    }
};

/* A signal that is watched for while this exists: fn(const vigil_signal_info &). Owner. */
class [[nodiscard]] signal : public detail::owned<vigil_signal, vigil_signal_remove>
{
  public:
    signal() noexcept = default;
    template <std::invocable<const vigil_signal_info &> F> signal(loop_ref loop, int signo, F &&fn)
    {
        using box = detail::anchored<std::decay_t<F>>;
        auto made = std::make_unique<box>(std::in_place, std::forward<F>(fn));
        loop_ = loop.get();
        const auto fire = [](vigil_loop *, vigil_signal, const vigil_signal_info *info, void *arg) {
            box *self = static_cast<box *>(arg);
            self->enter([&] { self->fn(*info); });
        };
        check(vigil_signal_add(loop_, signo, fire, made.get(), &id_), "watching for a signal");
        anchor_ = made.release();
    }
};

/* A child process that is waited for while this exists: fn(int code, int status), as
   vigil_child_fn has them. Owner. */
class [[nodiscard]] child : public detail::owned<vigil_child, vigil_child_remove>
{
  public:
    child() noexcept = default;
    template <std::invocable<int, int> F> child(loop_ref loop, pid_t pid, F &&fn)
    {
        using box = detail::anchored<std::decay_t<F>>;
        auto made = std::make_unique<box>(std::in_place, std::forward<F>(fn));
        loop_ = loop.get();
        const auto fire = [](vigil_loop *, vigil_child, pid_t, int code, int status, void *arg) {
            box *self = static_cast<box *>(arg);
            self->enter([&] { self->fn(code, status); });
        };
        check(vigil_child_add(loop_, pid, fire, made.get(), &id_), "watching a child process");
        anchor_ = made.release();
    }
};

/* A descriptor that is watched while this exists: fn(unsigned events). The descriptor stays
   yours; end the watch before you close it. The function is destroyed on the loop, when the
   watch is over for good. */
class [[nodiscard]] watch
{
  public:
    watch() noexcept = default;
    template <std::invocable<unsigned> F>
    watch(loop_ref loop, int fd, unsigned events, F &&fn, unsigned flags = 0)
    {
        using D = std::decay_t<F>;
        using box = detail::callback<D>;
        auto made = std::unique_ptr<box>(new box{std::forward<F>(fn)});
        const auto fire = [](vigil_loop *, vigil_watch, int, unsigned seen, void *arg) {
            detail::guarded_callback([&] { static_cast<box *>(arg)->fn(seen); });
        };
        loop_ = loop.get();
        check(vigil_watch_add(loop_, fd, events, flags, fire, box::drop, made.get(), &id_),
              "watching a descriptor");
        (void)made.release();
    }
    watch(watch &&other) noexcept
        : loop_(other.loop_), id_(std::exchange(other.id_, vigil_watch{0}))
    {
    }
    watch &operator=(watch &&other) noexcept
    {
        std::swap(loop_, other.loop_);
        std::swap(id_, other.id_);
        return *this;
    }
    watch(const watch &) = delete;
    watch &operator=(const watch &) = delete;
    ~watch()
    {
        if (id_.id != 0)
            (void)vigil_watch_remove(loop_, id_);
    }
    /* Watch for other events. Any thread. */
    void modify(unsigned events) const
    {
        check(vigil_watch_modify(loop_, id_, events), "changing what is watched for");
    }
    vigil_watch id() const noexcept
    {
        return id_;
    }

  private:
    vigil_loop *loop_ = nullptr;
    vigil_watch id_{0};
};

} // namespace vigil

#endif
