/* SPDX-License-Identifier: MIT */
/*
 * vigil/pool.hpp - the pool in C++20: lambdas as tasks. vigil/pool.h says what a pool promises;
 * here is only what C++ adds.
 *
 * A function object given to submit, spawn or call may be move-only. It is moved into one
 * allocation together with its task (none at all if it is trivially copyable and no larger than a
 * pointer), called once on a worker, and destroyed right after; or destroyed without being called,
 * if the pool is closed first. If the call fails it was not called and is destroyed.
 *
 *     vigil::pool pool;
 *     pool.submit([file = std::move(file)] { file->sync(); }, vigil::low);
 *     int answer = pool.call([] { return 6 * 7; }).get();
 *     vigil::parallel_for(pool, 0, 1000, [&](int i) { out[i] = f(in[i]); });
 *
 * pool is the owner, pool_ref names one and is copied freely (a vigil_pool * turns into it).
 * Objects here must not outlive their pool. Threads: as the functions of the same name in pool.h.
 */
#ifndef VIGIL_POOL_HPP
#define VIGIL_POOL_HPP

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <vigil/error.hpp>
#include <vigil/pool.h>

namespace vigil
{

using priority = vigil_priority;
inline constexpr priority critical = VIGIL_CRITICAL;
inline constexpr priority high = VIGIL_HIGH;
inline constexpr priority normal = VIGIL_NORMAL;
inline constexpr priority low = VIGIL_LOW;
inline constexpr priority idle = VIGIL_IDLE;

template <class R> class job;

namespace detail
{
/* A function object and its task in one piece. */
template <class F> struct boxed : vigil_task {
    F fn;

    template <class A>
    explicit boxed(std::in_place_t, A &&from) : vigil_task(), fn(std::forward<A>(from))
    {
        vigil_task_init(this, run, drop);
    }
    static int run(vigil_task *task) noexcept
    {
        const std::unique_ptr<boxed> self(static_cast<boxed *>(task));
        return guarded(self->fn);
    }
    static void drop(vigil_task *task) noexcept
    {
        delete static_cast<boxed *>(task);
    }
};

template <class F> int run_from_pointer(void *bits) noexcept
{
    from_pointer<F> it(bits);
    return guarded(it.fn);
}

/* Make a T; a null pointer if there is no memory, *status otherwise says what the constructor
   threw. */
template <class T, class... Args> T *try_make(int *status, Args &&...args) noexcept
{
    try {
        T *made = new T(std::forward<Args>(args)...);
        *status = 0;
        return made;
    } catch (...) {
        *status = status_of(std::current_exception());
        return nullptr;
    }
}

template <class R> struct job_result {
    std::atomic<int> holders{2}; /* the handle, and the pool until it has run */
    bool cancelled = false;
    std::exception_ptr exception;
    std::optional<R> value;

    virtual ~job_result() = default;
    void drop() noexcept
    {
        /* acq_rel: what the other holder wrote comes before the delete */
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
};

struct nothing {
};
template <class R> using stored = std::conditional_t<std::is_void_v<R>, nothing, R>;

template <class F, class R> struct job_work final : job_result<stored<R>> {
    std::optional<F> fn;

    template <class A>
    explicit job_work(std::in_place_t, A &&from) : fn(std::in_place, std::forward<A>(from))
    {
    }
    static int run(void *arg) noexcept
    {
        job_work *self = static_cast<job_work *>(arg);
        int status = 0;
        try {
            if constexpr (std::is_void_v<R>) {
                (*self->fn)();
                self->value.emplace();
            } else {
                self->value.emplace((*self->fn)());
            }
        } catch (...) {
            status = failed(&self->exception);
        }
        self->fn.reset();
        self->drop();
        return status;
    }
    static void cancel(void *arg) noexcept
    {
        job_work *self = static_cast<job_work *>(arg);
        self->cancelled = true;
        self->fn.reset();
        self->drop();
    }
};
} // namespace detail

class pool_ref
{
  public:
    pool_ref(vigil_pool *pool) noexcept
        : pool_(pool) // NOLINT(google-explicit-constructor): it is only a name
    {
    }
    vigil_pool *get() const noexcept
    {
        return pool_;
    }

    /* Run fn on a worker. It returns nothing, or an int that is the task's status. */
    template <std::invocable F> void submit(F &&fn, priority level = normal) const
    {
        check(try_submit(std::forward<F>(fn), level), "submitting a task");
    }
    template <std::invocable F> int try_submit(F &&fn, priority level = normal) const noexcept
    {
        using D = std::decay_t<F>;
        if constexpr (detail::fits_pointer<D>) {
            const D copy = fn;
            return vigil_pool_call(pool_, detail::run_from_pointer<D>, nullptr,
                                   detail::into_pointer(copy), level);
        } else {
            return place<D>(std::forward<F>(fn),
                            [&](vigil_task *it) { return vigil_pool_submit(pool_, it, level); });
        }
    }

    /* The same, not before `delay` has passed; or on one worker and no other. */
    template <std::invocable F>
    void submit_after(std::chrono::nanoseconds delay, F &&fn, priority level = normal) const
    {
        check(place<std::decay_t<F>>(std::forward<F>(fn),
                                     [&](vigil_task *it) {
                                         return vigil_pool_submit_after(pool_, it, level,
                                                                        delay.count());
                                     }),
              "submitting a task for later");
    }
    template <std::invocable F>
    void submit_to(unsigned worker, F &&fn, priority level = normal) const
    {
        check(place<std::decay_t<F>>(
                  std::forward<F>(fn),
                  [&](vigil_task *it) { return vigil_pool_submit_to(pool_, worker, it, level); }),
              "submitting a task to a worker");
    }

    /* A task in your own memory, as in C: no allocation. */
    int try_submit(vigil_task &task, priority level = normal) const noexcept
    {
        return vigil_pool_submit(pool_, &task, level);
    }

    /* Run fn on a worker and keep what it returns or throws. */
    template <std::invocable F>
    job<std::invoke_result_t<std::decay_t<F> &>> call(F &&fn, priority level = normal) const;

    /* Until there is an instant at which everything accepted has finished. False: the time ran
       out. */
    bool wait_idle(std::chrono::nanoseconds timeout = forever) const
    {
        return in_time(vigil_pool_wait_idle(pool_, timeout.count()),
                       "waiting for the pool to be idle");
    }
    /* End it: everything accepted runs. False: the time ran out, and the end goes on. */
    bool shutdown(std::chrono::nanoseconds timeout = forever) const
    {
        return in_time(vigil_pool_shutdown(pool_, timeout.count()), "shutting the pool down");
    }
    /* End it at once: what has not started is destroyed without being called. False: as above. */
    bool close(std::chrono::nanoseconds timeout = forever) const
    {
        return in_time(vigil_pool_close(pool_, timeout.count()), "closing the pool");
    }
    void resize(unsigned workers) const
    {
        check(vigil_pool_resize(pool_, workers), "resizing the pool");
    }
    unsigned workers() const noexcept
    {
        return vigil_pool_workers(pool_);
    }
    vigil_pool_stats stats() const
    {
        vigil_pool_stats it{};
        it.size = sizeof it;
        check(vigil_pool_stats_get(pool_, &it), "reading the pool's counters");
        return it;
    }

  protected:
    static bool in_time(int rc, const char *doing)
    {
        return rc != -ETIMEDOUT && check(rc, doing) >= 0;
    }
    template <class D, class F, class Submit> static int place(F &&fn, Submit &&submit) noexcept
    {
        int status = 0;
        auto *task =
            detail::try_make<detail::boxed<D>>(&status, std::in_place, std::forward<F>(fn));
        if (task == nullptr)
            return status;
        status = submit(task);
        if (status < 0)
            delete task;
        return status;
    }
    vigil_pool *pool_;
};

/* The pool of the worker that we are on, if we are on one. */
inline pool_ref current_pool() noexcept
{
    return vigil_pool_current();
}

/*
 * Owns a pool. The destructor closes it as vigil_pool_destroy does: what runs finishes, what has
 * not started is destroyed without being called; call shutdown() first if that is to run.
 * Destroying a pool inside one of its own tasks ends the program.
 */
class pool : public pool_ref
{
  public:
    /* workers: 0 for as many as this process may use. */
    explicit pool(unsigned workers = 0) : pool_ref(nullptr)
    {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = workers;
        check(vigil_pool_create(&pool_, &options), "making a pool");
    }
    explicit pool(const vigil_pool_options &options) : pool_ref(nullptr)
    {
        check(vigil_pool_create(&pool_, &options), "making a pool");
    }
    /* Take over a pool that was made in C. */
    static pool adopt(vigil_pool *made) noexcept
    {
        return pool(made, 0);
    }
    pool(pool &&other) noexcept : pool_ref(std::exchange(other.pool_, nullptr))
    {
    }
    pool &operator=(pool &&other) noexcept
    {
        std::swap(pool_, other.pool_);
        return *this;
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    ~pool() noexcept // a throw ends the program, and says why
    {
        check(vigil_pool_destroy(pool_), "destroying a pool inside one of its own tasks");
    }
    /* Give it away; who gets it destroys it. */
    vigil_pool *release() noexcept
    {
        return std::exchange(pool_, nullptr);
    }

  private:
    pool(vigil_pool *made, int) noexcept : pool_ref(made)
    {
    }
};

/*
 * Names what call() started. get() waits (helping, inside a task of the same pool) and gives the
 * value or throws what the function threw; vigil::error -ECANCELED if it was cancelled. Letting the
 * handle go lets the function run on alone.
 */
template <class R> class [[nodiscard]] job
{
  public:
    job() noexcept = default;
    job(job &&other) noexcept
        : pool_(other.pool_), id_(std::exchange(other.id_, vigil_job{0})),
          result_(std::exchange(other.result_, nullptr))
    {
    }
    job &operator=(job &&other) noexcept
    {
        std::swap(pool_, other.pool_);
        std::swap(id_, other.id_);
        std::swap(result_, other.result_);
        return *this;
    }
    job(const job &) = delete;
    job &operator=(const job &) = delete;
    ~job()
    {
        if (result_ == nullptr)
            return;
        (void)vigil_job_unref(pool_, id_);
        result_->drop();
    }

    bool valid() const noexcept
    {
        return result_ != nullptr;
    }
    /* Its name, for calls of vigil/flow.h, and its pool. */
    vigil_job id() const noexcept
    {
        return id_;
    }
    vigil_pool *pool() const noexcept
    {
        return pool_;
    }
    /* For flow.hpp. */
    detail::job_result<detail::stored<R>> *result() const noexcept
    {
        return result_;
    }
    static job adopt(vigil_pool *pool, vigil_job id,
                     detail::job_result<detail::stored<R>> *result) noexcept
    {
        job made;
        made.pool_ = pool;
        made.id_ = id;
        made.result_ = result;
        return made;
    }
    /* Wait for the end. False: the time ran out. */
    bool wait(std::chrono::nanoseconds timeout = forever) const
    {
        const int rc = vigil_job_wait(pool_, id_, timeout.count(), nullptr);
        return rc != -ETIMEDOUT && check(rc, "waiting for a job") >= 0;
    }
    bool done() const
    {
        return check(vigil_job_poll(pool_, id_, nullptr), "looking at a job") >= VIGIL_JOB_DONE;
    }
    /* True: it will not run. False: it runs or has ended. */
    bool cancel() const
    {
        const int rc = vigil_job_cancel(pool_, id_);
        return rc != -EBUSY && check(rc, "cancelling a job") >= 0;
    }
    /* Once. */
    R get()
    {
        (void)wait();
        if (result_->cancelled)
            throw error(-ECANCELED, "a job");
        if (result_->exception)
            std::rethrow_exception(result_->exception);
        if constexpr (!std::is_void_v<R>)
            return std::move(*result_->value);
    }

  private:
    friend class pool_ref;
    vigil_pool *pool_ = nullptr;
    vigil_job id_{0};
    detail::job_result<detail::stored<R>> *result_ = nullptr;
};

template <std::invocable F>
job<std::invoke_result_t<std::decay_t<F> &>> pool_ref::call(F &&fn, priority level) const
{
    using D = std::decay_t<F>;
    using R = std::invoke_result_t<D &>;
    static_assert(!std::is_reference_v<R>,
                  "a job keeps a value; return a pointer, or a std::reference_wrapper");
    auto work = std::make_unique<detail::job_work<D, R>>(std::in_place, std::forward<F>(fn));
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = level;
    options.cancel = detail::job_work<D, R>::cancel;
    job<R> made;
    made.pool_ = pool_;
    check(vigil_job_call(pool_, detail::job_work<D, R>::run, work.get(), &options, &made.id_),
          "starting a job");
    made.result_ = work.release();
    return made;
}

} // namespace vigil

#include <vigil/fork.hpp>

#include <vigil/flow.hpp>

#endif
