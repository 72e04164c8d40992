/* SPDX-License-Identifier: MIT */
/*
 * vigil/parallel.hpp - vigil/parallel.h in C++20: loops over indices, iterators and ranges, with
 * lambdas. sort.hpp has the sorts. Part of pool.hpp.
 *
 *     vigil::parallel_for(pool, 0, 1000, [&](int i) { out[i] = f(in[i]); });
 *     vigil::parallel_for_each(pool, players, [](player &p) { p.think(); });
 *     long sum = vigil::parallel_reduce(pool, 0, n, 0L, [&](int i) { return v[i]; }, std::plus{});
 *
 * A range is anything with random access from std::begin to std::end. Everything returns when all
 * pieces have ended. After an exception pieces that have not begun are left out, and the first one is
 * thrown to the caller. An aborted token, the progress hook and the end of the pool throw
 * vigil::error.
 */
#ifndef VIGIL_PARALLEL_HPP
#define VIGIL_PARALLEL_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <vector>

#include <vigil/parallel.h>
#include <vigil/pool.hpp>

namespace vigil
{

/* vigil_parallel_options; a number alone is the grain. */
struct parallel_options : vigil_parallel_options {
    parallel_options(std::uint64_t least = 0) noexcept // NOLINT(google-explicit-constructor)
        : vigil_parallel_options VIGIL_PARALLEL_OPTIONS_INIT
    {
        this->grain = least;
    }
};

namespace detail
{
/* The first exception of a call. */
struct first_exception {
    std::atomic<bool> taken{false};
    std::exception_ptr thrown;

    int keep() noexcept
    {
        std::exception_ptr mine;
        const int status = failed(&mine);
        /* relaxed: the winner alone writes, and the end of the call publishes it */
        if (!taken.exchange(true, std::memory_order_relaxed))
            thrown = mine;
        return status;
    }
    void finish(int rc, const char *doing) const
    {
        if (thrown)
            std::rethrow_exception(thrown);
        check(rc, doing);
    }
};

/* fn(begin, end) as a C piece. */
template <class F> struct piece_of {
    F &fn;
    first_exception exception{};

    static int run(void *arg, std::size_t begin, std::size_t end) noexcept
    {
        piece_of *self = static_cast<piece_of *>(arg);
        try {
            self->fn(begin, end);
            return 0;
        } catch (...) {
            return self->exception.keep();
        }
    }
};

template <class F>
void run_pieces(pool_ref pool, std::size_t count, F &&fn, const parallel_options &options)
{
    piece_of<std::remove_reference_t<F>> piece{fn};
    piece.exception.finish(vigil_parallel_for(pool.get(), 0, count, piece.run, &piece, &options),
                           "a parallel loop");
}

/* Counted from zero in 64 bits, so that no range of any type overflows. */
template <class I> std::size_t distance_of(I first, I last) noexcept
{
    return last > first ? static_cast<std::size_t>(static_cast<std::uint64_t>(last) -
                                                   static_cast<std::uint64_t>(first))
                        : 0;
}
template <class I> I index_at(I first, std::size_t offset) noexcept
{
    return static_cast<I>(static_cast<std::uint64_t>(first) + offset);
}

template <class R> using iterator_of = decltype(std::begin(std::declval<R &>()));
template <class R>
concept random_range = std::random_access_iterator<iterator_of<R>>;

template <class R> std::size_t size_of(R &range)
{
    return static_cast<std::size_t>(std::end(range) - std::begin(range));
}
template <std::random_access_iterator I> I iterator_at(I first, std::size_t offset)
{
    return first + static_cast<std::iter_difference_t<I>>(offset);
}

/* A value of a reduction in the C library's memory; empty if making it threw. */
template <class T>
inline constexpr bool fits_value = sizeof(std::optional<T>) <= VIGIL_VALUE_BYTES &&
                                   alignof(T) <= alignof(std::max_align_t);
template <class T> struct value_box {
    std::optional<T> held;
    void make(const T &from)
    {
        held.emplace(from);
    }
};
template <class T>
requires(!fits_value<T>) struct value_box<T> {
    std::unique_ptr<T> held;
    void make(const T &from)
    {
        held = std::make_unique<T>(from);
    }
};

/* One piece. Of numbers four quarters at once: each step of a single sum waits for the one before
   it. */
template <class I, class T, class Combine>
T fold_elements(I it, std::size_t count, const T &identity, T sum, Combine &combine)
{
    if constexpr (std::is_arithmetic_v<T>) {
        const std::size_t quarter = count / 4;
        T sums[3] = {identity, identity, identity};
        I second = iterator_at(it, quarter), third = iterator_at(second, quarter);
        I fourth = iterator_at(third, quarter);
        for (std::size_t i = 0; i != quarter; i++, ++it, ++second, ++third, ++fourth) {
            sum = combine(sum, *it);
            sums[0] = combine(sums[0], *second);
            sums[1] = combine(sums[1], *third);
            sums[2] = combine(sums[2], *fourth);
        }
        for (std::size_t i = 4 * quarter; i != count; i++, ++fourth)
            sums[2] = combine(sums[2], *fourth);
        return combine(combine(sum, sums[0]), combine(sums[1], sums[2]));
    } else {
        for (std::size_t i = 0; i != count; i++, ++it)
            sum = combine(std::move(sum), *it);
        return sum;
    }
}

template <class T, class Fold, class Combine> struct reduction {
    const T &identity;
    Fold &fold_piece; /* (begin, end, T) -> T */
    Combine &combine;
    first_exception exception{};
    using box = value_box<T>;

    static void start(void *arg, void *value) noexcept
    {
        reduction *self = static_cast<reduction *>(arg);
        box *made = new (value) box;
        try {
            made->make(self->identity);
        } catch (...) {
            (void)self->exception.keep();
        }
    }
    static int fold(void *arg, std::size_t begin, std::size_t end, void *value) noexcept
    {
        reduction *self = static_cast<reduction *>(arg);
        box *mine = static_cast<box *>(value);
        if (!mine->held)
            return -ENOMEM; /* the exception is kept */
        try {
            *mine->held = self->fold_piece(begin, end, std::move(*mine->held));
            return 0;
        } catch (...) {
            return self->exception.keep();
        }
    }
    static void merge(void *arg, void *value, void *right) noexcept
    {
        reduction *self = static_cast<reduction *>(arg);
        box *mine = static_cast<box *>(value);
        box *other = static_cast<box *>(right);
        try {
            if (mine->held && other->held)
                *mine->held = self->combine(std::move(*mine->held), std::move(*other->held));
        } catch (...) {
            (void)self->exception.keep();
        }
        other->~box();
    }
};

template <class T, class Fold, class Combine>
T run_reduction(pool_ref pool, std::size_t count, const T &identity, Fold &&fold, Combine &combine,
                const parallel_options &options)
{
    using work = reduction<T, std::remove_reference_t<Fold>, Combine>;
    work it{identity, fold, combine};
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    reducer.bytes = sizeof(typename work::box);
    reducer.start = work::start;
    reducer.fold = work::fold;
    reducer.merge = work::merge;
    alignas(typename work::box) unsigned char room[sizeof(typename work::box)];
    const int rc = vigil_parallel_reduce(pool.get(), 0, count, &reducer, &it, &options, room);
    if (rc == -EINVAL || rc == -ECHILD) /* not started */
        it.exception.finish(rc, "a parallel reduction");
    typename work::box *result = std::launder(reinterpret_cast<typename work::box *>(room));
    const auto drop = [](typename work::box *box) { box->~value_box(); };
    const std::unique_ptr<typename work::box, decltype(drop)> owner(result, drop);
    it.exception.finish(rc, "a parallel reduction");
    return std::move(*result->held);
}
} // namespace detail

/* Call fn(i) for each i from first to before last. */
template <std::integral I, std::invocable<I> F>
void parallel_for(pool_ref pool, I first, std::type_identity_t<I> last, F &&fn,
                  const parallel_options &options = {})
{
    detail::run_pieces(
        pool, detail::distance_of(first, last),
        [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i != end; i++)
                fn(detail::index_at(first, i));
        },
        options);
}

/* Call fn(begin, end) for pieces of [first, last). */
template <std::integral I, std::invocable<I, I> F>
void parallel_pieces(pool_ref pool, I first, std::type_identity_t<I> last, F &&fn,
                     const parallel_options &options = {})
{
    detail::run_pieces(
        pool, detail::distance_of(first, last),
        [&](std::size_t begin, std::size_t end) {
            fn(detail::index_at(first, begin), detail::index_at(first, end));
        },
        options);
}

/* Call fn(tile) for the tiles of an area; see vigil_parallel_for_2d. */
template <std::invocable<const vigil_tile &> F>
void parallel_for_2d(pool_ref pool, const vigil_tile &area, std::size_t tile_rows,
                     std::size_t tile_columns, F &&fn, const parallel_options &options = {})
{
    struct tiles {
        F &fn;
        detail::first_exception exception{};
        static int run(void *arg, const vigil_tile *tile) noexcept
        {
            tiles *self = static_cast<tiles *>(arg);
            try {
                self->fn(*tile);
                return 0;
            } catch (...) {
                return self->exception.keep();
            }
        }
    } it{fn};
    it.exception.finish(
        vigil_parallel_for_2d(pool.get(), &area, tile_rows, tile_columns, it.run, &it, &options),
        "a parallel loop");
}

/* Call fn(element) for each element of the range. */
template <detail::random_range R, class F>
void parallel_for_each(pool_ref pool, R &&range, F &&fn, const parallel_options &options = {})
{
    const auto first = std::begin(range);
    detail::run_pieces(
        pool, detail::size_of(range),
        [&](std::size_t begin, std::size_t end) {
            const auto last = detail::iterator_at(first, end);
            for (auto it = detail::iterator_at(first, begin); it != last; ++it)
                fn(*it);
        },
        options);
}

/* out[i] = fn(element i) for each element of the range. */
template <detail::random_range R, std::random_access_iterator Out, class F>
void parallel_transform(pool_ref pool, R &&range, Out out, F &&fn,
                        const parallel_options &options = {})
{
    const auto first = std::begin(range);
    detail::run_pieces(
        pool, detail::size_of(range),
        [&](std::size_t begin, std::size_t end) {
            auto from = detail::iterator_at(first, begin);
            auto to = detail::iterator_at(out, begin);
            for (std::size_t i = begin; i != end; i++, ++from, ++to)
                *to = fn(*from);
        },
        options);
}

/* combine(... combine(identity, map(first)) ..., map(last - 1)), in pieces: combine must be
   associative, identity neutral. The pieces are put together in order. */
template <std::integral I, class T, std::invocable<I> Map, class Combine>
T parallel_reduce(pool_ref pool, I first, std::type_identity_t<I> last, T identity, Map &&map,
                  Combine &&combine, const parallel_options &options = {})
{
    return detail::run_reduction(
        pool, detail::distance_of(first, last), identity,
        [&](std::size_t begin, std::size_t end, T sum) {
            for (std::size_t i = begin; i != end; i++)
                sum = combine(std::move(sum), map(detail::index_at(first, i)));
            return sum;
        },
        combine, options);
}

/* The same over the elements of a range. */
template <detail::random_range R, class T, class Combine>
T parallel_reduce(pool_ref pool, R &&range, T identity, Combine &&combine,
                  const parallel_options &options = {})
{
    const auto first = std::begin(range);
    return detail::run_reduction(
        pool, detail::size_of(range), identity,
        [&](std::size_t begin, std::size_t end, T sum) {
            return detail::fold_elements(detail::iterator_at(first, begin), end - begin, identity,
                                         std::move(sum), combine);
        },
        combine, options);
}

/* out[i] = combine of identity and elements 0 to i. out may be the range's own begin. T is copied
   byte by byte. Returns the value of the whole. */
template <detail::random_range R, std::random_access_iterator Out, class T, class Combine>
requires std::is_trivially_copyable_v<T> && detail::fits_value<T>
    T parallel_inclusive_scan(pool_ref pool, R &&range, Out out, T identity, Combine &&combine,
                              const parallel_options &options = {})
{
    struct scan {
        detail::iterator_of<R> first;
        Out out;
        const T &identity;
        std::remove_reference_t<Combine> &combine;
        detail::first_exception exception{};

        static int fold(void *arg, std::size_t begin, std::size_t end, void *value) noexcept
        {
            scan *self = static_cast<scan *>(arg);
            T &sum = *static_cast<T *>(value);
            try {
                for (std::size_t i = begin; i != end; i++)
                    sum = self->combine(sum, *detail::iterator_at(self->first, i));
                return 0;
            } catch (...) {
                return self->exception.keep();
            }
        }
        static int write(void *arg, std::size_t begin, std::size_t end, void *value) noexcept
        {
            scan *self = static_cast<scan *>(arg);
            T &sum = *static_cast<T *>(value);
            try {
                for (std::size_t i = begin; i != end; i++) {
                    sum = self->combine(sum, *detail::iterator_at(self->first, i));
                    *detail::iterator_at(self->out, i) = sum;
                }
                return 0;
            } catch (...) {
                return self->exception.keep();
            }
        }
        static void merge(void *arg, void *value, void *right) noexcept
        {
            scan *self = static_cast<scan *>(arg);
            T &sum = *static_cast<T *>(value);
            try {
                sum = self->combine(sum, *static_cast<T *>(right));
            } catch (...) {
                (void)self->exception.keep();
            }
        }
        static void start(void *arg, void *value) noexcept
        {
            new (value) T(static_cast<scan *>(arg)->identity);
        }
    } it{std::begin(range), out, identity, combine};
    vigil_reducer reducer = VIGIL_REDUCER_INIT;
    reducer.bytes = sizeof(T);
    reducer.start = scan::start;
    reducer.fold = scan::fold;
    reducer.write = scan::write;
    reducer.merge = scan::merge;
    T total = identity;
    it.exception.finish(
        vigil_parallel_scan(pool.get(), 0, detail::size_of(range), &reducer, &it, &options, &total),
        "a parallel scan");
    return total;
}

/* The first element for which test says true, or std::end(range). */
template <detail::random_range R, class F>
auto parallel_find_if(pool_ref pool, R &&range, F &&test, const parallel_options &options = {})
{
    struct search {
        detail::iterator_of<R> first;
        std::remove_reference_t<F> &test;
        detail::first_exception exception{};
        static int run(void *arg, std::size_t begin, std::size_t end, std::size_t *at) noexcept
        {
            search *self = static_cast<search *>(arg);
            try {
                for (*at = begin; *at != end; ++*at)
                    if (self->test(*detail::iterator_at(self->first, *at)))
                        return 1;
                return 0;
            } catch (...) {
                return self->exception.keep();
            }
        }
    } it{std::begin(range), test};
    std::size_t at = 0;
    const int rc =
        vigil_parallel_find(pool.get(), 0, detail::size_of(range), it.run, &it, &options, &at);
    it.exception.finish(rc < 0 ? rc : 0, "a parallel search");
    return rc == 1 ? detail::iterator_at(std::begin(range), at) : std::end(range);
}

/* A T per worker, made when the worker first asks for it: vigil_local. */
template <std::default_initializable T> class worker_local
{
  public:
    explicit worker_local(pool_ref pool)
    {
        static_assert(alignof(T) <= 64, "the values are aligned to 64 bytes");
        static_assert(std::is_nothrow_default_constructible_v<T>,
                      "a value is made inside a loop, where an exception has nowhere to go");
        check(vigil_local_create(
                  &local_, pool.get(), sizeof(T), [](void *, void *value) { new (value) T(); },
                  nullptr),
              "making worker-local values");
    }
    worker_local(const worker_local &) = delete;
    worker_local &operator=(const worker_local &) = delete;
    ~worker_local()
    {
        each([](T &value) { value.~T(); });
        vigil_local_destroy(local_);
    }
    /* The calling worker's value. Throws outside a task of the pool. */
    T &get()
    {
        void *value = vigil_local_get(local_);
        if (value == nullptr)
            throw error(vigil_pool_current() == nullptr ? -EPERM : -ENOMEM, "a worker-local value");
        return *static_cast<T *>(value);
    }
    /* Call fn(value) for each value, in the order of the workers, when no task uses them. fn must
       not throw. */
    template <std::invocable<T &> F> void each(F &&fn)
    {
        (void)vigil_local_each(
            local_,
            [](void *arg, void *value) {
                (*static_cast<std::remove_reference_t<F> *>(arg))(*static_cast<T *>(value));
                return 0;
            },
            &fn);
    }
    /* combine(... combine(start, value) ..., value). */
    template <class U, class Combine> U combine(U start, Combine &&fn)
    {
        each([&](T &value) { start = fn(std::move(start), value); });
        return start;
    }

  private:
    vigil_local *local_ = nullptr;
};

} // namespace vigil

#include <vigil/sort.hpp>

#include <vigil/graph.hpp>

#endif
