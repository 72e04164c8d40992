/* SPDX-License-Identifier: MIT */
/*
 * vigil/promise.hpp - promises and cancellation in C++20. vigil/promise.h says what a promise
 * promises; here is what C++ adds: values, promises and tokens that give themselves back, lambdas
 * as handlers and as work, exceptions as reasons, co_await.
 *
 *     vigil::promise lines = vigil::async(loop, pool, [path] { return read_lines(path); });
 *     const auto text = co_await std::move(lines);
 *     use(text.get<std::vector<std::string>>());
 *
 *     vigil::cancel_source stop;
 *     co_await vigil::promise::after(loop, 10s, stop.token()); -- throws after stop.abort()
 *
 * co_await on a promise belongs to the owner's thread (-EPERM elsewhere: `co_await loop` first) and
 * stays there. The await of std::move(promise) takes the value; of a plain promise it gives a look
 * at the value, which is valid as long as the promise. A rejection is thrown: as the exception
 * itself if a lambda or a task has thrown it, as vigil::error with the status otherwise.
 */
#ifndef VIGIL_PROMISE_HPP
#define VIGIL_PROMISE_HPP

#include <typeinfo>

#include <vigil/cancel.h>
#include <vigil/promise.h>
#include <vigil/task.hpp>

namespace vigil
{

/* ---- cancellation ---------------------------------------------------------------------------- */

/* A counted reference to a token; may be empty, which is never aborted. */
class cancel_token
{
  public:
    cancel_token() noexcept = default;
    /* One more reference to a token that is somebody's. */
    explicit cancel_token(vigil_cancel_token *token) noexcept : token_(vigil_cancel_ref(token))
    {
    }
    cancel_token(const cancel_token &other) noexcept : cancel_token(other.token_)
    {
    }
    cancel_token(cancel_token &&other) noexcept : token_(std::exchange(other.token_, nullptr))
    {
    }
    cancel_token &operator=(cancel_token other) noexcept
    {
        std::swap(token_, other.token_);
        return *this;
    }
    ~cancel_token()
    {
        vigil_cancel_unref(token_);
    }
    vigil_cancel_token *get() const noexcept
    {
        return token_;
    }
    bool aborted() const noexcept
    {
        return vigil_cancel_status(token_) != 0;
    }
    const char *text() const noexcept
    {
        return token_ == nullptr ? "" : vigil_cancel_text(token_);
    }
    /* For long work: throws if it was aborted. */
    void check() const
    {
        vigil::check(vigil_cancel_status(token_), "work that was asked to stop");
    }

  private:
    vigil_cancel_token *token_ = nullptr;
};

/* A token that is borrowed for a call: what functions take. Without a destructor on purpose: gcc
   12 destroys the options that are written down inside a co_await expression twice. */
class token_ref
{
  public:
    token_ref() noexcept = default;
    token_ref(const cancel_token &token) noexcept
        : token_(token.get()) // NOLINT(google-explicit-constructor)
    {
    }
    token_ref(vigil_cancel_token *token) noexcept
        : token_(token) // NOLINT(google-explicit-constructor)
    {
    }
    vigil_cancel_token *get() const noexcept
    {
        return token_;
    }

  private:
    vigil_cancel_token *token_ = nullptr;
};

class cancel_source
{
  public:
    cancel_source()
    {
        vigil::check(vigil_cancel_create(&source_), "making a cancel source");
    }
    /* Aborts itself with -ETIMEDOUT. Owner of the loop. */
    cancel_source(loop_ref loop, std::chrono::nanoseconds timeout)
    {
        vigil::check(vigil_cancel_create_timeout(&source_, loop.get(), timeout.count()),
                     "making a timeout");
    }
    cancel_source(cancel_source &&other) noexcept : source_(std::exchange(other.source_, nullptr))
    {
    }
    cancel_source &operator=(cancel_source &&other) noexcept
    {
        std::swap(source_, other.source_);
        return *this;
    }
    cancel_source(const cancel_source &) = delete;
    cancel_source &operator=(const cancel_source &) = delete;
    ~cancel_source()
    {
        vigil_cancel_destroy(source_);
    }
    cancel_token token() const noexcept
    {
        return cancel_token(vigil_cancel_token_of(source_));
    }
    /* Any thread. False: it was aborted before. */
    bool abort(int status = -ECANCELED, const char *text = nullptr) const noexcept
    {
        return vigil_cancel_abort(source_, status, text) == 0;
    }

  private:
    vigil_cancel_source *source_ = nullptr;
};

/* ---- values ---------------------------------------------------------------------------------- */

class promise;

namespace detail
{
/* A C++ object as a vigil_value: the function that destroys it also tells its type. */
template <class T> void destroy_boxed(void *pointer)
{
    delete static_cast<T *>(pointer);
}
} // namespace detail

/* A look at a value that is somebody's. */
class value_view
{
  public:
    value_view() noexcept : raw_(vigil_value_none())
    {
    }
    explicit value_view(const vigil_value &raw) noexcept : raw_(raw)
    {
    }
    const vigil_value &raw() const noexcept
    {
        return raw_;
    }
    vigil_kind kind() const noexcept
    {
        return raw_.kind;
    }
    std::int64_t integer() const
    {
        expect(raw_.kind == VIGIL_INT);
        return raw_.integer;
    }
    double real() const
    {
        expect(raw_.kind == VIGIL_REAL);
        return raw_.real;
    }
    /* The object that a lambda or task has given, if it is a T; -EINVAL if it is something else. */
    template <class T> T &get() const
    {
        expect(raw_.kind == VIGIL_POINTER && raw_.destroy == detail::destroy_boxed<T>);
        return *static_cast<T *>(raw_.pointer);
    }
    std::size_t size() const
    {
        expect(raw_.kind == VIGIL_LIST || raw_.kind == VIGIL_AGGREGATE);
        return raw_.list->count;
    }
    value_view operator[](std::size_t index) const
    {
        check(index < size() ? 0 : -ENOENT, "looking into a list of values");
        return value_view(raw_.list->items[index]);
    }
    /* Of a rejection: the exception itself where there is one, else vigil::error. */
    [[noreturn]] void rethrow() const
    {
        if (raw_.destroy == detail::destroy_boxed<std::exception_ptr>)
            std::rethrow_exception(*static_cast<std::exception_ptr *>(raw_.pointer));
        throw error(raw_.status < 0 ? raw_.status : -EIO, "a promise was rejected");
    }

  protected:
    static void expect(bool kind)
    {
        check(kind ? 0 : -EINVAL, "a value is of another kind");
    }
    vigil_value raw_;
};

/* A value that is ours. */
class value : public value_view
{
  public:
    value() noexcept = default;
    explicit value(const vigil_value &raw) noexcept : value_view(raw)
    {
    }
    value(value &&other) noexcept : value_view(other.release())
    {
    }
    value &operator=(value &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    value(const value &) = delete;
    value &operator=(const value &) = delete;
    ~value()
    {
        vigil_value_destroy(&raw_);
    }
    vigil_value release() noexcept
    {
        return std::exchange(raw_, vigil_value_none());
    }

    /* Whole numbers and reals as such, a promise as "settle as that one does", an exception as a
       reason, everything else as an object of its own. */
    template <class T> static value of(T &&from);
};

namespace detail
{
/* What f gives or throws, as a value that no exception comes out of. */
template <class F> vigil_value value_from(F &&f) noexcept
{
    try {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<F &>>) {
                f();
                return vigil_value_none();
            } else {
                return value::of(f()).release();
            }
        } catch (...) {
            return value::of(std::current_exception()).release();
        }
    } catch (...) { /* there is no memory to say more */
        return vigil_value_error(-ENOMEM);
    }
}
} // namespace detail

/* ---- promises -------------------------------------------------------------------------------- */

/* A counted reference to a promise. Functions that make one belong to the owner's thread unless
   they say otherwise. */
class promise
{
  public:
    promise() noexcept = default;
    /* Take over a reference. */
    static promise adopt(vigil_promise *made) noexcept
    {
        promise it;
        it.promise_ = made;
        return it;
    }
    /* A pending one, to be settled with resolve or reject. Any thread. */
    explicit promise(loop_ref loop)
    {
        check(vigil_promise_create(&promise_, loop.get()), "making a promise");
    }
    promise(const promise &other) noexcept : promise_(vigil_promise_ref(other.promise_))
    {
    }
    promise(promise &&other) noexcept : promise_(std::exchange(other.promise_, nullptr))
    {
    }
    promise &operator=(promise other) noexcept
    {
        std::swap(promise_, other.promise_);
        return *this;
    }
    ~promise()
    {
        vigil_promise_unref(promise_);
    }
    vigil_promise *get() const noexcept
    {
        return promise_;
    }
    vigil_promise *release() noexcept
    {
        return std::exchange(promise_, nullptr);
    }
    vigil_promise_state state() const noexcept
    {
        return vigil_promise_state_get(promise_);
    }

    /* Any thread. False: it was settled before, and `from` is gone. Throws if the loop has
       ended. */
    template <class T> bool resolve(T &&from) const
    {
        return settle(value::of(std::forward<T>(from)));
    }
    bool resolve() const
    {
        return settle(value());
    }
    bool reject(const std::exception_ptr &thrown) const
    {
        return settle(value::of(thrown));
    }
    bool reject(int status) const
    {
        return settle(value(vigil_value_error(status)));
    }

    /* fn(value_view) when it is fulfilled; what it gives or throws settles the result. */
    template <std::invocable<value_view> F> promise then(F &&fn) const
    {
        return add(std::forward<F>(fn), true);
    }
    /* The same for a rejection; value_view::rethrow throws the reason. */
    template <std::invocable<value_view> F> promise otherwise(F &&fn) const
    {
        return add(std::forward<F>(fn), false);
    }

    static promise after(loop_ref loop, std::chrono::nanoseconds time, token_ref token = {})
    {
        return make(vigil_promise_sleep, loop.get(), time.count(), token.get());
    }
    static promise fd(loop_ref loop, int fd, unsigned events, token_ref token = {})
    {
        return make(vigil_promise_fd, loop.get(), fd, events, token.get());
    }
    static promise child(loop_ref loop, pid_t pid, token_ref token = {})
    {
        return make(vigil_promise_child, loop.get(), pid, token.get());
    }
    static promise signal(loop_ref loop, int signo, token_ref token = {})
    {
        return make(vigil_promise_signal, loop.get(), signo, token.get());
    }

    static promise all(loop_ref loop, const std::vector<promise> &of)
    {
        return many(vigil_promise_all, loop, of);
    }
    static promise all_settled(loop_ref loop, const std::vector<promise> &of)
    {
        return many(vigil_promise_all_settled, loop, of);
    }
    static promise race(loop_ref loop, const std::vector<promise> &of)
    {
        return many(vigil_promise_race, loop, of);
    }
    static promise any(loop_ref loop, const std::vector<promise> &of)
    {
        return many(vigil_promise_any, loop, of);
    }
    /* The same promise, but not for longer than this, or than the token lets it. */
    promise guard(token_ref token, std::chrono::nanoseconds timeout = forever) const
    {
        return make(vigil_promise_guard, promise_, token.get(), timeout.count());
    }

    template <class Made, class... Args> static promise make(Made *call, Args... args)
    {
        promise it;
        check(call(args..., &it.promise_), "making a promise");
        return it;
    }

  private:
    template <class F> struct handler {
        F fn;
        static vigil_value run(vigil_value *from, void *arg)
        {
            return detail::value_from(
                [&] { return static_cast<handler *>(arg)->fn(value_view(*from)); });
        }
        static void done(void *arg) noexcept
        {
            delete static_cast<handler *>(arg);
        }
    };
    template <class F> promise add(F &&fn, bool fulfilled) const
    {
        using H = handler<std::decay_t<F>>;
        auto box = std::unique_ptr<H>(new H{std::forward<F>(fn)});
        vigil_handlers handlers = VIGIL_HANDLERS_INIT;
        (fulfilled ? handlers.fulfilled : handlers.rejected) = H::run;
        handlers.arg = box.get();
        handlers.done = H::done;
        promise derived;
        check(vigil_promise_then_with(promise_, &handlers, &derived.promise_), "adding a handler");
        (void)box.release();
        return derived;
    }
    template <class Made>
    static promise many(Made *call, loop_ref loop, const std::vector<promise> &of)
    {
        std::vector<vigil_promise *> raw;
        raw.reserve(of.size());
        for (const promise &it : of)
            raw.push_back(it.promise_);
        return make(call, loop.get(), raw.data(), raw.size());
    }
    bool settle(value with) const
    {
        const int rc = vigil_promise_resolve(promise_, with.raw());
        if (rc == 0)
            (void)with.release();
        return rc != -EALREADY && check(rc, "settling a promise") == 0;
    }
    vigil_promise *promise_ = nullptr;
};

template <class T> value value::of(T &&from)
{
    using D = std::decay_t<T>;
    if constexpr (std::is_same_v<D, value>) {
        return std::forward<T>(from);
    } else if constexpr (std::is_same_v<D, promise>) {
        promise given(std::forward<T>(from));
        return value(vigil_value_promise(given.release()));
    } else if constexpr (std::is_same_v<D, std::exception_ptr>) {
        const int status = status_of(from);
        auto *box = new (std::nothrow) std::exception_ptr(std::forward<T>(from));
        if (box == nullptr) /* then its status must do */
            return value(vigil_value_error(status));
        return value(
            vigil_value_error_with(status, box, detail::destroy_boxed<std::exception_ptr>));
    } else if constexpr (std::is_integral_v<D> || std::is_enum_v<D>) {
        return value(vigil_value_int(static_cast<std::int64_t>(from)));
    } else if constexpr (std::is_floating_point_v<D>) {
        return value(vigil_value_real(static_cast<double>(from)));
    } else {
        auto box = std::make_unique<D>(std::forward<T>(from));
        return value(vigil_value_pointer(box.release(), detail::destroy_boxed<D>));
    }
}

/* ---- co_await -------------------------------------------------------------------------------- */

namespace detail
{
class settles : private vigil_reaction
{
  public:
    explicit settles(vigil_promise *promise) noexcept : vigil_reaction(), promise_(promise)
    {
    }
    bool await_ready() const noexcept
    {
        return false;
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        this->run = come;
        this->cancel = lost;
        status_ = vigil_promise_reaction_add(promise_, this);
        return status_ >= 0;
    }

  protected:
    void must_be_fulfilled() const
    {
        check(status_, "waiting for a promise");
        if (state_ == VIGIL_REJECTED)
            value_view(seen_).rethrow();
    }
    vigil_promise *promise_;
    vigil_value seen_ = vigil_value_none();

  private:
    static void come(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
    {
        settles *self = static_cast<settles *>(reaction);
        self->state_ = state;
        self->seen_ = *value;
        resume_on_loop(self->it_);
    }
    static void lost(vigil_reaction *reaction) noexcept
    {
        settles *self = static_cast<settles *>(reaction);
        /* The loop is closed. What has come already is not lost: a message, a connection. */
        self->state_ = vigil_promise_result(self->promise_, &self->seen_);
        self->status_ = self->state_ == VIGIL_FULFILLED ? 0 : -ECANCELED;
        (void)resume_here(self->it_);
    }
    std::coroutine_handle<> it_;
    vigil_promise_state state_ = VIGIL_PENDING;
    int status_ = 0;
};

/* A look, with the reference that makes it safe. */
class settles_for_a_look : public settles
{
  public:
    explicit settles_for_a_look(promise of) noexcept : settles(of.get()), held_(std::move(of))
    {
    }
    value_view await_resume() const
    {
        must_be_fulfilled();
        return value_view(seen_);
    }

  protected:
    promise held_;
};

class settles_to_be_taken : public settles_for_a_look
{
  public:
    using settles_for_a_look::settles_for_a_look;
    value await_resume() const
    {
        must_be_fulfilled();
        vigil_value taken = vigil_value_none();
        check(vigil_promise_take(promise_, &taken),
              "taking a value that somebody has taken before");
        return value(taken);
    }
};
} // namespace detail

inline detail::settles_for_a_look operator co_await(const promise &it)
{
    return detail::settles_for_a_look(it);
}
inline detail::settles_to_be_taken operator co_await(promise &&it)
{
    return detail::settles_to_be_taken(std::move(it));
}

/* ---- work and tasks as promises -------------------------------------------------------------- */

struct async_options {
    priority level = normal;
    token_ref token = {};
    std::chrono::nanoseconds timeout = forever;
    vigil_limit *limit = nullptr;
};

/* vigil_async with a lambda: fn() on a worker, what it gives or throws settles the promise.
   Owner. */
template <std::invocable F>
promise async(loop_ref loop, pool_ref pool, F &&fn, const async_options &options = {})
{
    using D = std::decay_t<F>;
    struct work {
        D fn;
        static vigil_value run(void *arg)
        {
            return detail::value_from(static_cast<work *>(arg)->fn);
        }
        static void done(void *arg) noexcept
        {
            delete static_cast<work *>(arg);
        }
    };
    auto box = std::unique_ptr<work>(new work{std::forward<F>(fn)});
    vigil_async_options raw = VIGIL_ASYNC_OPTIONS_INIT;
    raw.priority = options.level;
    raw.token = options.token.get();
    raw.timeout_ns = options.timeout.count();
    raw.limit = options.limit;
    raw.done = work::done;
    vigil_promise *made = nullptr;
    check(vigil_async(loop.get(), pool.get(), work::run, box.get(), &raw, &made),
          "starting work on the pool");
    (void)box.release();
    return promise::adopt(made);
}

namespace detail
{
template <class T> root settle_with(task<T> work, promise to)
{
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            (void)to.resolve();
        } else {
            (void)to.resolve(co_await std::move(work));
        }
    } catch (...) {
        (void)to.reject(std::current_exception());
    }
}
} // namespace detail

/* Begin a task here, and have its end as a promise: for C, for several handlers, for
   promise::all. Any thread. If the loop ends first the promise is rejected, and the task's own
   value or exception is dropped. */
template <class T> promise to_promise(loop_ref loop, task<T> work)
{
    promise made(loop);
    detail::settle_with(std::move(work), made).start(nullptr, nullptr);
    return made;
}

} // namespace vigil

#endif
