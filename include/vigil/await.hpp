/* SPDX-License-Identifier: MIT */
/*
 * vigil/await.hpp - what a coroutine can wait for: a worker, the loop, time, a descriptor, a
 * function on the pool, several tasks at once. Part of task.hpp. Nothing here allocates: what the C
 * side needs lies in the coroutine's frame.
 *
 *     co_await pool;                              go on on a worker, NORMAL
 *     co_await on(pool, vigil::high);             the same in a class
 *     co_await loop;                              go on on the loop; on the loop itself: in a later
 *                                                 turn
 *     co_await sleep_for(loop, 10ms);             the three from here on: on the loop, and they
 *                                                 stay there
 *     co_await ready(loop, fd, VIGIL_FD_READ);    the events that came
 *     co_await offload(loop, pool, fn);           fn() on a worker; its value or exception comes
 *                                                 back to the loop
 *     co_await when_all(task, task, ...);         all of them at once
 *
 * sleep_for, ready and offload keep the loop alive. If the loop ends first they throw -ESHUTDOWN:
 * sleep_for and ready on the owner's thread, offload on the worker when fn is through (its value is
 * dropped), because fn may be using the coroutine's variables.
 *
 * A fault of gcc 12 to know: a temporary lambda with captures inside a co_await expression is
 * destroyed twice. What was moved from (a unique_ptr, a string) does not mind; anything else does.
 * Give such a lambda a name, and std::move it.
 */
#ifndef VIGIL_AWAIT_HPP
#define VIGIL_AWAIT_HPP

#include <vigil/loop.hpp>
#include <vigil/task.hpp>

#include <thread>

namespace vigil
{

/* ---- to a worker ----------------------------------------------------------------------------- */

class [[nodiscard]] on : private vigil_task
{
  public:
    explicit on(pool_ref pool, priority level = normal) noexcept
        : vigil_task(), pool_(pool), class_(level)
    {
        vigil_task_init(this, run, drop);
    }
    bool await_ready() const noexcept
    {
        return false;
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        const int rc = vigil_pool_submit(pool_.get(), this, class_);
        if (rc >= 0)
            return true; /* and this object may be gone */
        status_ = rc;
        return false;
    }
    void await_resume() const
    {
        check(status_, "going on on a worker");
    }

  private:
    static int run(vigil_task *self) noexcept
    {
        return detail::resume_here(static_cast<on *>(self)->it_);
    }
    static void drop(vigil_task *self) noexcept
    {
        static_cast<on *>(self)->status_ = -ECANCELED;
        (void)detail::resume_here(static_cast<on *>(self)->it_);
    }
    pool_ref pool_;
    priority class_;
    int status_ = 0;
    std::coroutine_handle<> it_;
};

inline on operator co_await(const pool_ref &pool) noexcept
{
    return on(pool);
}

/* ---- to the loop ----------------------------------------------------------------------------- */

namespace detail
{
/* Resume on a loop: a detached task that ends here by an exception counts as a callback that
   did. */
inline void resume_on_loop(std::coroutine_handle<> it)
{
    const int status = resume_here(it);
    if (status < 0)
        vigil_raise(status);
}

class [[nodiscard]] to_loop : private vigil_post
{
  public:
    explicit to_loop(loop_ref loop) noexcept : vigil_post(), loop_(loop)
    {
        vigil_post_init(this, arrive, drop);
    }
    bool await_ready() const noexcept
    {
        return false;
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        const int rc = vigil_loop_post(loop_.get(), this);
        if (rc >= 0)
            return true; /* and this object may be gone */
        status_ = rc;
        return false;
    }
    void await_resume() const
    {
        check(status_, "going on on a loop");
    }

  private:
    static void arrive(vigil_post *self)
    {
        resume_on_loop(static_cast<to_loop *>(self)->it_);
    }
    static void drop(vigil_post *self) noexcept
    {
        static_cast<to_loop *>(self)->status_ = -ECANCELED;
        (void)resume_here(static_cast<to_loop *>(self)->it_);
    }
    loop_ref loop_;
    int status_ = 0;
    std::coroutine_handle<> it_;
};

/* Something on the owner's thread that comes, or the end of the loop comes first. */
class waits_on_loop : protected vigil_at_end
{
  public:
    bool await_ready() const noexcept
    {
        return false;
    }

  protected:
    explicit waits_on_loop(loop_ref loop) noexcept : vigil_at_end(), loop_(loop)
    {
    }
    int watch_for_the_end(void (*ended)(vigil_at_end *))
    {
        vigil_at_end_init(this, ended);
        return vigil_loop_at_end_add(loop_.get(), this);
    }
    void come()
    {
        (void)vigil_loop_at_end_remove(loop_.get(), this);
        resume_on_loop(it_);
    }
    static void end(waits_on_loop *self)
    {
        self->status_ = -ESHUTDOWN;
        resume_on_loop(self->it_);
    }
    loop_ref loop_;
    int status_ = 0;
    std::coroutine_handle<> it_;
};
} // namespace detail

inline detail::to_loop operator co_await(const loop_ref &loop) noexcept
{
    return detail::to_loop(loop);
}

class [[nodiscard]] sleep_for : private detail::waits_on_loop
{
  public:
    sleep_for(loop_ref loop, std::chrono::nanoseconds time) noexcept
        : waits_on_loop(loop), time_(time)
    {
    }
    using waits_on_loop::await_ready;
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        vigil_timer timer;
        status_ = vigil_timer_start(loop_.get(), time_.count(), fire, this, &timer);
        if (status_ < 0)
            return false;
        status_ =
            watch_for_the_end([](vigil_at_end *self) { end(static_cast<sleep_for *>(self)); });
        if (status_ < 0)
            (void)vigil_timer_cancel(loop_.get(), timer);
        return status_ >= 0;
    }
    void await_resume() const
    {
        check(status_, "sleeping on a loop");
    }

  private:
    static void fire(vigil_loop *, vigil_timer, void *self)
    {
        static_cast<sleep_for *>(self)->come();
    }
    std::chrono::nanoseconds time_;
};

/* The events that came, VIGIL_FD_ERROR and VIGIL_FD_HANGUP included; -EBADF if the descriptor
   was closed before. */
class [[nodiscard]] ready : private detail::waits_on_loop
{
  public:
    ready(loop_ref loop, int fd, unsigned events) noexcept
        : waits_on_loop(loop), fd_(fd), events_(events)
    {
    }
    using waits_on_loop::await_ready;
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        status_ = watch_for_the_end([](vigil_at_end *self) { end(static_cast<ready *>(self)); });
        if (status_ < 0)
            return false;
        status_ = vigil_watch_add(loop_.get(), fd_, events_, 0, fire, nullptr, this, &watch_);
        if (status_ < 0)
            (void)vigil_loop_at_end_remove(loop_.get(), this);
        return status_ >= 0;
    }
    unsigned await_resume() const
    {
        check(status_, "waiting for a descriptor");
        return events_;
    }

  private:
    static void fire(vigil_loop *loop, vigil_watch watch, int, unsigned events, void *arg)
    {
        ready *self = static_cast<ready *>(arg);
        (void)vigil_watch_remove(loop, watch);
        self->events_ = events;
        if ((events & VIGIL_FD_GONE) != 0)
            self->status_ = -EBADF;
        self->come();
    }
    int fd_;
    unsigned events_;
    vigil_watch watch_{0};
};

/* ---- a function on a worker, from the loop --------------------------------------------------- */

/*
 * Three places meet: the worker that has run fn and brings the result, the loop that takes it, and
 * the end of the loop. `stage` decides between the first and the last: the worker says that it is
 * about to post (BRINGING) unless the loop has ended (GONE); the end of the loop says GONE unless
 * the worker is about to post, and then waits until the worker has let go of the loop, which is a
 * few instructions away. So the loop is not touched once it has ended.
 */
template <class F> class [[nodiscard]] offload : private detail::waits_on_loop
{
    using R = std::invoke_result_t<F &>;
    static_assert(!std::is_reference_v<R>, "offload brings a value back");

  public:
    template <class A>
    offload(loop_ref loop, pool_ref pool, A &&fn, priority level = normal)
        : waits_on_loop(loop), pool_(pool), class_(level), fn_(std::forward<A>(fn))
    {
        vigil_task_init(&task_, run, drop);
        vigil_post_init(&post_, arrive, lost);
    }
    offload(const offload &) = delete;
    offload &operator=(const offload &) = delete;
    using waits_on_loop::await_ready;
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        task_.self = this;
        post_.self = this;
        status_ = vigil_loop_ref(loop_.get());
        if (status_ < 0)
            return false;
        status_ = watch_for_the_end(
            [](vigil_at_end *self) { static_cast<offload *>(self)->loop_ends(); });
        if (status_ >= 0) {
            const int rc = vigil_pool_submit(pool_.get(), &task_, class_);
            if (rc >= 0)
                return true; /* this object may be gone */
            status_ = rc;
            (void)vigil_loop_at_end_remove(loop_.get(), this);
        }
        (void)vigil_loop_unref(loop_.get());
        return false;
    }
    R await_resume()
    {
        check(status_, "running a function on the pool");
        return outcome_.take();
    }

  private:
    enum : int {
        RUNNING,
        BRINGING,
        LEFT,
        GONE
    };
    struct task_part : vigil_task {
        offload *self;
    };
    struct post_part : vigil_post {
        offload *self;
    };

    static int run(vigil_task *task) noexcept
    {
        offload *self = static_cast<task_part *>(task)->self;
        int status = 0;
        try {
            if constexpr (std::is_void_v<R>) {
                self->fn_();
                self->outcome_.value.emplace();
            } else {
                self->outcome_.value.emplace(self->fn_());
            }
        } catch (...) {
            status = detail::failed(&self->outcome_.thrown);
        }
        const int resumed = self->bring();
        return status < 0 ? status : resumed;
    }
    static void drop(vigil_task *task) noexcept
    {
        offload *self = static_cast<task_part *>(task)->self;
        self->status_ = -ECANCELED;
        (void)self->bring();
    }
    /* The worker's side. */
    int bring() noexcept
    {
        int running = RUNNING;
        /* acquire: the end of the loop comes before what we do then; pairs with the release in
           loop_ends */
        if (stage_.compare_exchange_strong(running, BRINGING, std::memory_order_acquire,
                                           std::memory_order_acquire)) {
            vigil_loop *loop = loop_.get();
            if (vigil_loop_post_internal(loop, &post_) >= 0)
                return 0; /* and this object is the loop's, or gone */
            /* The lane is closed: the loop ends, and its end waits for this. */
            stage_.store(
                LEFT, std::memory_order_release); /* we are out of the loop; pairs with loop_ends */
            while (!left_.load(
                std::memory_order_acquire)) /* it is out of this object; pairs with loop_ends */
                std::this_thread::yield();
        }
        status_ = -ESHUTDOWN;
        return detail::resume_here(it_);
    }
    /* The loop's side. */
    static void arrive(vigil_post *post)
    {
        offload *self = static_cast<post_part *>(post)->self;
        (void)vigil_loop_unref(self->loop_.get());
        self->come();
    }
    static void lost(vigil_post *post)
    {
        offload *self = static_cast<post_part *>(post)->self;
        self->status_ = -ECANCELED;
        self->come();
    }
    /* The end of the loop. */
    void loop_ends() noexcept
    {
        int running = RUNNING;
        /* release: everything the loop did; pairs with the acquire in bring */
        if (stage_.compare_exchange_strong(running, GONE, std::memory_order_release,
                                           std::memory_order_relaxed))
            return; /* the worker goes on from here, perhaps at once */
        while (stage_.load(std::memory_order_acquire) != LEFT) /* pairs with bring */
            std::this_thread::yield();
        left_.store(true, std::memory_order_release); /* our last touch; pairs with bring */
    }

    pool_ref pool_;
    priority class_;
    F fn_;
    detail::outcome<R> outcome_;
    std::atomic<int> stage_{RUNNING};
    std::atomic<bool> left_{false};
    task_part task_{};
    post_part post_{};
};
template <class A> offload(loop_ref, pool_ref, A &&) -> offload<std::decay_t<A>>;
template <class A> offload(loop_ref, pool_ref, A &&, priority) -> offload<std::decay_t<A>>;

/* ---- several at once ------------------------------------------------------------------------- */

namespace detail
{
/* Starts a number of roots when it is awaited; the end of the last one is the end of the wait. */
class all_of
{
  public:
    explicit all_of(std::vector<root> roots) noexcept : roots_(std::move(roots))
    {
    }
    bool await_ready() const noexcept
    {
        return roots_.empty();
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        starting record;
        waiting_ = it;
        starter_ = record.id();
        left_.store(roots_.size(), std::memory_order_relaxed); /* starting one publishes it */
        /* This object stays until the last has ended, and is not touched after that one was
           started. */
        root *next = roots_.data();
        for (root *end = next + roots_.size(); next != end; next++)
            next->start(ended, this);
        return !record.over();
    }
    void await_resume() const noexcept
    {
    }

  private:
    static std::coroutine_handle<> ended(void *arg) noexcept
    {
        all_of *self = static_cast<all_of *>(arg);
        /* acq_rel: what all have done, before what the last one does */
        if (self->left_.fetch_sub(1, std::memory_order_acq_rel) != 1 ||
            starting::ends(self->starter_))
            return nullptr;
        return self->waiting_;
    }
    std::vector<root> roots_;
    std::atomic<std::size_t> left_{0};
    std::coroutine_handle<> waiting_;
    starting::name starter_;
};

/* Counts down to the one who waits, who counts as well until it waits. */
struct latch {
    std::atomic<std::size_t> left{1};
    std::coroutine_handle<> waiting;

    void start(root it) noexcept
    {
        left.fetch_add(1, std::memory_order_relaxed); /* the one who adds has not arrived itself */
        it.start(arrived, this);
    }
    bool arrive() noexcept
    {
        return left.fetch_sub(1, std::memory_order_acq_rel) ==
               1; /* what all have done, before what the last one does */
    }
    static std::coroutine_handle<> arrived(void *arg) noexcept
    {
        latch *self = static_cast<latch *>(arg);
        return self->arrive() ? self->waiting : nullptr;
    }
    auto operator co_await() noexcept
    {
        struct awaiter {
            latch *self;
            bool await_ready() noexcept
            {
                return false;
            }
            VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
            {
                self->waiting = it;
                return !self->arrive();
            }
            void await_resume() noexcept
            {
            }
        };
        return awaiter{this};
    }
};

template <class T> root run_into_on(pool_ref pool, priority level, task<T> work, outcome<T> &to)
{
    try {
        co_await on(pool, level);
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

template <class T> auto unpack(std::vector<outcome<T>> &outcomes)
{
    for (outcome<T> &it : outcomes) {
        if (it.thrown)
            std::rethrow_exception(it.thrown);
    }
    if constexpr (!std::is_void_v<T>) {
        std::vector<T> values;
        values.reserve(outcomes.size());
        for (outcome<T> &it : outcomes)
            values.push_back(std::move(*it.value));
        return values;
    }
}
template <class T>
using values_of = std::conditional_t<std::is_void_v<T>, void, std::vector<stored<T>>>;
} // namespace detail

/*
 * All tasks at once: each begins here, in order, and runs until it first suspends. Ends when all
 * have ended, with their values in order, or with the exception of the first of them (in order)
 * that has one. Goes on wherever the last one ended.
 */
template <class T> task<detail::values_of<T>> when_all(std::vector<task<T>> tasks)
{
    std::vector<detail::outcome<T>> outcomes(tasks.size());
    std::vector<detail::root> roots;
    roots.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        roots.push_back(detail::run_into(std::move(tasks[i]), outcomes[i]));
    co_await detail::all_of(std::move(roots));
    co_return detail::unpack<T>(outcomes);
}

/* The same, and each begins on a worker: fork and join. */
template <class T>
task<detail::values_of<T>> when_all(pool_ref pool, std::vector<task<T>> tasks,
                                    priority level = normal)
{
    std::vector<detail::outcome<T>> outcomes(tasks.size());
    std::vector<detail::root> roots;
    roots.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        roots.push_back(detail::run_into_on(pool, level, std::move(tasks[i]), outcomes[i]));
    co_await detail::all_of(std::move(roots));
    co_return detail::unpack<T>(outcomes);
}

/* Tasks of several types; a void one leaves an empty struct in the tuple. */
template <class... Ts> task<std::tuple<detail::stored<Ts>...>> when_all(task<Ts>... tasks)
{
    std::tuple<detail::outcome<Ts>...> outcomes;
    std::vector<detail::root> roots;
    roots.reserve(sizeof...(Ts));
    std::apply([&](auto &...to) { (roots.push_back(detail::run_into(std::move(tasks), to)), ...); },
               outcomes);
    co_await detail::all_of(std::move(roots));
    std::apply([](auto &...it) { ((it.thrown ? std::rethrow_exception(it.thrown) : void()), ...); },
               outcomes);
    co_return std::apply(
        [](auto &...it) { return std::tuple<detail::stored<Ts>...>(std::move(*it.value)...); },
        outcomes);
}

/*
 * A number of tasks that is not known beforehand. They live inside `body`, which is called with the
 * scope, and are all over when this is:
 *
 *     co_await in_scope([&](vigil::async_scope &scope) -> vigil::task<> {
 *         while (auto connection = co_await accept(listener))
 *             scope.start(serve(std::move(connection)));
 *     });
 *
 * Ends with the exception of body, else with the first one of a task. start may be called from any
 * thread, by body and by the tasks themselves. The function object lives until the end, so the
 * coroutine may use its captures.
 */
class async_scope
{
  public:
    async_scope() = default;
    async_scope(const async_scope &) = delete;
    async_scope &operator=(const async_scope &) = delete;

    /* Begin here, until it first suspends. */
    void start(task<void> work)
    {
        latch_.start(guard(std::move(work), *this));
    }
    /* Begin on a worker. */
    void start(pool_ref pool, task<void> work, priority level = normal)
    {
        start(first_on(pool, level, std::move(work)));
    }

  private:
    template <class F> friend task<void> in_scope(F body);

    static task<void> first_on(pool_ref pool, priority level, task<void> work)
    {
        co_await on(pool, level);
        co_await std::move(work);
    }
    static detail::root guard(task<void> work, async_scope &scope)
    {
        try {
            co_await std::move(work);
        } catch (...) {
            if (!scope.failed_.exchange(true,
                                        std::memory_order_relaxed)) /* arriving publishes it */
                scope.thrown_ = std::current_exception();
        }
    }
    detail::latch latch_;
    std::atomic<bool> failed_{false};
    std::exception_ptr thrown_;
};

template <class F> task<void> in_scope(F body)
{
    async_scope scope;
    std::exception_ptr thrown;
    try {
        co_await body(scope);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_await scope.latch_;
    if (thrown)
        std::rethrow_exception(thrown);
    if (scope.thrown_)
        std::rethrow_exception(scope.thrown_);
}

/* ---- a loop for one task --------------------------------------------------------------------- */

namespace detail
{
/* The end of the task stops the loop: by a post, because the task may end on any thread, and a
   post may still be on its way out when the loop goes. */
struct loop_run : vigil_post {
    vigil_loop *loop;
    bool stopped = false; /* owner */
    flag done;

    explicit loop_run(vigil_loop *of) noexcept : vigil_post(), loop(of)
    {
        vigil_post_init(this, stop, drop);
    }
    static void stop(vigil_post *post)
    {
        loop_run *self = static_cast<loop_run *>(post);
        self->stopped = true;
        (void)vigil_loop_unref(self->loop);
        (void)vigil_loop_pause(self->loop);
        (void)flag::raise(&self->done);
    }
    static void drop(vigil_post *self) noexcept
    {
        (void)flag::raise(&static_cast<loop_run *>(self)->done);
    }
    static std::coroutine_handle<> ended(void *arg) noexcept
    {
        loop_run *self = static_cast<loop_run *>(arg);
        if (vigil_loop_post_internal(self->loop, self) < 0)
            (void)flag::raise(&self->done); /* the loop has ended, and is left anyway */
        return nullptr;
    }
};
} // namespace detail

/*
 * Run the loop on this thread, with `work` on it, until work has ended; its value or exception. The
 * loop may be run again. pause() does not end it; if the loop is shut down, what work waits for on
 * the loop throws, and this returns when work has unwound.
 */
template <class T> T loop_ref::run(task<T> work) const
{
    static_assert(!std::is_reference_v<T>, "loop.run gives a value");
    check(is_owner() ? -EDEADLK : 0,
          "running a task to its end inside a callback of the same loop");
    detail::outcome<T> outcome;
    detail::loop_run run(loop_);
    const auto begin = [](loop_ref loop, task<T> inner) -> task<T> {
        co_await loop; /* on the loop, and not before it runs */
        if constexpr (std::is_void_v<T>)
            co_await std::move(inner);
        else
            co_return co_await std::move(inner);
    };
    detail::root root = detail::run_into(begin(*this, std::move(work)), outcome);
    check(vigil_loop_ref(loop_), "running a loop");
    root.start(detail::loop_run::ended, &run);
    int rc = 1;
    while (rc == 1 && !run.stopped)
        rc = vigil_loop_run(loop_, VIGIL_RUN);
    run.done.wait();
    return outcome.take();
}

} // namespace vigil

#endif
