/* SPDX-License-Identifier: MIT */
/*
 * vigil/flow.hpp - vigil/flow.h in C++20: jobs that follow others, the first of several, isolation,
 * yield, a call on every worker, callers that work. Part of pool.hpp.
 *
 *     vigil::job<std::string> page = pool.call(fetch);
 *     int words = vigil::then(page, [](std::string &text) { return count(text); }).get();
 */
#ifndef VIGIL_FLOW_HPP
#define VIGIL_FLOW_HPP

#include <initializer_list>
#include <vector>

#include <vigil/flow.h>
#include <vigil/pool.hpp>

namespace vigil
{

namespace detail
{
/* The work of a job that follows one with a value. */
template <class F, class R> struct after_job {
    job_result<stored<R>> *before; /* held */
    F fn;

    template <class A>
    after_job(job_result<stored<R>> *from, A &&function)
        : before(from), fn(std::forward<A>(function))
    {
        /* relaxed: the caller holds it */
        before->holders.fetch_add(1, std::memory_order_relaxed);
    }
    after_job(after_job &&other) noexcept(std::is_nothrow_move_constructible_v<F>)
        : before(std::exchange(other.before, nullptr)), fn(std::move(other.fn))
    {
    }
    after_job(const after_job &) = delete;
    after_job &operator=(const after_job &) = delete;
    ~after_job()
    {
        if (before != nullptr)
            before->drop();
    }
    decltype(auto) operator()()
    {
        if (before->cancelled)
            throw error(-ECANCELED, "a job");
        if (before->exception)
            std::rethrow_exception(before->exception);
        if constexpr (std::is_void_v<R>)
            return fn();
        else
            return fn(*before->value);
    }
};

template <class D, class Start>
auto start_job(vigil_pool *pool, D &&fn, priority level, Start &&start)
{
    using F = std::decay_t<D>;
    using R = std::invoke_result_t<F &>;
    static_assert(!std::is_reference_v<R>,
                  "a job keeps a value; return a pointer, or a std::reference_wrapper");
    auto work = std::make_unique<job_work<F, R>>(std::in_place, std::forward<D>(fn));
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = level;
    options.cancel = job_work<F, R>::cancel;
    vigil_job id{0};
    check(start(job_work<F, R>::run, static_cast<void *>(work.get()), &options, &id),
          "starting a job");
    return job<R>::adopt(pool, id, work.release());
}
} // namespace detail

/* Call fn with the value of `before`, as an lvalue, when that has ended. If it threw or was cancelled,
   fn is not called, and the new job throws the same. See vigil_job_then_call. */
template <class R, class F> auto then(const job<R> &before, F &&fn, priority level = normal)
{
    return detail::start_job(
        before.pool(), detail::after_job<std::decay_t<F>, R>(before.result(), std::forward<F>(fn)),
        level, [&](auto run, void *arg, const vigil_job_options *options, vigil_job *id) {
            return vigil_job_then_call(before.pool(), before.id(), run, arg, options, id);
        });
}

/* Call fn when all of the jobs have ended, however they ended. See vigil_job_all_call. */
template <std::invocable F>
auto after_all(pool_ref pool, const std::vector<vigil_job> &jobs, F &&fn, priority level = normal)
{
    return detail::start_job(
        pool.get(), std::forward<F>(fn), level,
        [&](auto run, void *arg, const vigil_job_options *options, vigil_job *id) {
            return vigil_job_all_call(pool.get(), jobs.data(), jobs.size(), run, arg, options, id);
        });
}

/* The same when the first of them has ended. See vigil_job_any_call. */
template <std::invocable F>
auto after_any(pool_ref pool, const std::vector<vigil_job> &jobs, F &&fn, priority level = normal)
{
    return detail::start_job(
        pool.get(), std::forward<F>(fn), level,
        [&](auto run, void *arg, const vigil_job_options *options, vigil_job *id) {
            return vigil_job_any_call(pool.get(), jobs.data(), jobs.size(), run, arg, options, id);
        });
}

/* The index of the first that has ended; empty: the time ran out. See vigil_wait_any. */
inline std::optional<std::size_t> wait_any(pool_ref pool,
                                           std::initializer_list<vigil_awaited> awaited,
                                           std::chrono::nanoseconds timeout = forever)
{
    std::size_t index = 0;
    const int rc =
        vigil_wait_any(pool.get(), awaited.begin(), awaited.size(), timeout.count(), &index);
    if (rc == -ETIMEDOUT)
        return std::nullopt;
    check(rc, "waiting for the first of several");
    return index;
}

/* Let another task run now; true: one did. See vigil_task_yield. */
inline bool yield_task()
{
    return check(vigil_task_yield(), "letting another task run") > 0;
}

namespace detail
{
/* A call whose value or exception comes back through C. */
template <class F> struct direct_call {
    using R = std::invoke_result_t<F &>;
    F *fn;
    std::exception_ptr exception;
    std::optional<stored<R>> value;

    static int run(void *arg) noexcept
    {
        direct_call *self = static_cast<direct_call *>(arg);
        try {
            if constexpr (std::is_void_v<R>) {
                (*self->fn)();
                self->value.emplace();
            } else {
                self->value.emplace((*self->fn)());
            }
            return 0;
        } catch (...) {
            return failed(&self->exception);
        }
    }
    R finish(int rc, const char *doing)
    {
        if (exception)
            std::rethrow_exception(exception);
        check(rc, doing);
        if constexpr (!std::is_void_v<R>)
            return std::move(*value);
    }
};
} // namespace detail

/* Call fn with strangers kept out of its waits. See vigil_isolate. */
template <std::invocable F> std::invoke_result_t<F &> isolate(F &&fn)
{
    detail::direct_call<std::remove_reference_t<F>> call{&fn, nullptr, std::nullopt};
    return call.finish(vigil_isolate(call.run, &call), "calling a function in isolation");
}

/* Call fn here, as a task of the pool. See vigil_pool_run. */
template <std::invocable F>
std::invoke_result_t<F &> run_on(pool_ref pool, F &&fn, priority level = normal)
{
    detail::direct_call<std::remove_reference_t<F>> call{&fn, nullptr, std::nullopt};
    return call.finish(vigil_pool_run(pool.get(), call.run, &call, level), "working for a pool");
}

/* Call fn(worker) once on each worker and wait; throws what the first failing call threw. Not inside
   a task of the pool. See vigil_pool_broadcast_call. */
template <std::invocable<unsigned> F> void broadcast(pool_ref pool, F &&fn, priority level = normal)
{
    struct shared {
        std::remove_reference_t<F> *fn;
        std::atomic<int> failed{0};
        std::exception_ptr exception;
        static int run(void *arg, unsigned worker) noexcept
        {
            shared *self = static_cast<shared *>(arg);
            try {
                (*self->fn)(worker);
                return 0;
            } catch (...) {
                std::exception_ptr thrown;
                const int status = detail::failed(&thrown);
                /* relaxed: the end of the job orders it */
                if (self->failed.exchange(1, std::memory_order_relaxed) == 0)
                    self->exception = thrown;
                return status;
            }
        }
    } it{&fn, {}, nullptr};
    if (pool.get() != nullptr && vigil_pool_current() == pool.get())
        throw error(-EDEADLK, "waiting for every worker inside one");
    vigil_job job{0};
    check(vigil_pool_broadcast_call(pool.get(), shared::run, &it, level, &job),
          "calling a function on every worker");
    int status = 0;
    (void)vigil_job_wait(pool.get(), job, VIGIL_FOREVER, &status);
    (void)vigil_job_unref(pool.get(), job);
    if (it.exception)
        std::rethrow_exception(it.exception);
    check(status, "a call on every worker");
}

} // namespace vigil

#endif
