/* SPDX-License-Identifier: MIT */
/*
 * vigil/error.hpp - how Vigil says no in C++20, and where exceptions end.
 *
 * Calls that fail throw vigil::error, a std::system_error whose what() is vigil_strerror's sentence
 * and which compares equal to the std::errc of its errno. Each such call has a try_ form beside it
 * where that is useful: noexcept, and returning the negative errno.
 *
 * No exception crosses a C frame. Whatever runs your function on a worker or on the loop catches
 * what leaves it, and:
 *
 *   a task on the pool       has failed with status_of(the exception): counted, reported to
 *                            on_failure. What is waited for (job, group, join, a coroutine) carries
 *                            the exception itself to the waiter.
 *   a callback on the loop   is over, as if by vigil_raise(status_of(the exception)): counted,
 *                            reported to on_uncaught.
 *
 * Inside on_failure and on_uncaught, which run on the same thread right after, take_uncaught() is
 * the exception itself.
 *
 * vigil_raise jumps over frames as longjmp does: never over one with destructors. In C++ throw
 * instead.
 */
#ifndef VIGIL_ERROR_HPP
#define VIGIL_ERROR_HPP

#if !defined(__cplusplus) || __cplusplus < 202002L
#error \
    "vigil.hpp and its parts need C++20 (-std=c++20); in older C++ use the C headers, vigil/vigil.h"
#endif

#include <chrono>
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <vigil/base.h>

namespace vigil
{
/* A timeout without limit, as VIGIL_FOREVER; 0 does not wait. */
inline constexpr std::chrono::nanoseconds forever{VIGIL_FOREVER};

namespace detail
{
class error_category final : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "vigil";
    }
    std::string message(int value) const override
    {
        return vigil_strerror(value);
    }
    std::error_condition default_error_condition(int value) const noexcept override
    {
        return {value, std::generic_category()};
    }
};
} // namespace detail

/* The category of vigil::error: values are errnos. */
inline const std::error_category &category() noexcept
{
    static const detail::error_category instance;
    return instance;
}

class error : public std::system_error
{
  public:
    /* status: a negative errno; doing: what was tried, for what(). */
    error(int status, const char *doing) : std::system_error(-status, category(), doing)
    {
    }
    /* The negative errno. */
    int status() const noexcept
    {
        return -code().value();
    }
};

/* Throw if rc is an error; else give it back. */
inline int check(int rc, const char *doing)
{
    if (rc < 0)
        throw error(rc, doing);
    return rc;
}

/* The negative errno that stands for an exception where only a number can go: the errno of a
   std::system_error (of this library, the system, or the generic category), -ENOMEM for
   std::bad_alloc, -EIO for everything else. */
inline int status_of(const std::exception_ptr &exception) noexcept
{
    try {
        std::rethrow_exception(exception);
    } catch (const std::system_error &it) {
        const std::error_category &of = it.code().category();
        if ((of == category() || of == std::generic_category() || of == std::system_category()) &&
            it.code().value() > 0)
            return -it.code().value();
        return -EIO;
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (...) {
        return -EIO;
    }
}

namespace detail
{
struct uncaught_slot {
    std::exception_ptr exception;
    bool pending =
        false; /* a detached coroutine has ended so, and who resumed it has not looked yet */
};

/* Not inlined: a coroutine may go on on another thread, and must not remember where the slot of
   the last one was. */
__attribute__((noinline)) inline uncaught_slot &uncaught() noexcept
{
    thread_local uncaught_slot slot;
    return slot;
}
} // namespace detail

/* The exception by which the last failed task or callback on this thread was left, or null. It
   is kept until it is taken or the next one comes. */
inline std::exception_ptr take_uncaught() noexcept
{
    return std::exchange(detail::uncaught().exception, nullptr);
}

namespace detail
{
/* The status of the exception that is being handled, which *kept (if not null) and on_failure
   get. */
inline int failed(std::exception_ptr *kept = nullptr) noexcept
{
    uncaught().exception = std::current_exception();
    if (kept != nullptr)
        *kept = uncaught().exception;
    return status_of(uncaught().exception);
}

/* A status that a function returned: if it is a failure, there is no exception to it. */
inline int returned(int status) noexcept
{
    if (status < 0)
        uncaught().exception = nullptr;
    return status;
}

/* Call f; what it throws becomes a status. f returns nothing, or a status by itself. */
template <class F> int guarded(F &&f) noexcept
{
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<F &>>) {
            f();
            return 0;
        } else {
            static_assert(
                std::is_same_v<std::invoke_result_t<F &>, int>,
                "a task returns nothing, or an int that is its status; for a value use call()");
            return returned(f());
        }
    } catch (...) {
        return failed();
    }
}

/* The same on a loop, where a failure goes to on_uncaught. Nothing with a destructor may be
   alive in the caller. */
template <class F> void guarded_callback(F &&f)
{
    const int status = guarded([&] { f(); });
    if (status < 0)
        vigil_raise(status);
}

/* A function object that fits into a void *, so that it needs no memory of its own. */
template <class F>
inline constexpr bool
    fits_pointer = sizeof(F) <= sizeof(void *) &&
                   alignof(F) <= alignof(void *) && std::is_trivially_copyable_v<F>;

template <class F> void *into_pointer(const F &f) noexcept
{
    void *bits = nullptr;
    __builtin_memcpy(static_cast<void *>(&bits), static_cast<const void *>(&f), sizeof f);
    return bits;
}

template <class F> struct from_pointer {
    union {
        F fn;
    };
    explicit from_pointer(void *bits) noexcept
    {
        __builtin_memcpy(static_cast<void *>(&fn), static_cast<const void *>(&bits), sizeof fn);
    }
};
} // namespace detail

} // namespace vigil

#endif
