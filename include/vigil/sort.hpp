/* SPDX-License-Identifier: MIT */
/*
 * vigil/sort.hpp - parallel_sort and parallel_stable_sort over ranges. Part of pool.hpp.
 *
 * The same algorithms as in src/parallel, with the comparison inlined. If it throws, the exception
 * comes to the caller and the elements are there in any order (stable: in a valid but unspecified
 * state).
 */
#ifndef VIGIL_SORT_HPP
#define VIGIL_SORT_HPP

#include <algorithm>

#include <vigil/parallel.hpp>

namespace vigil
{
namespace detail
{
inline constexpr std::ptrdiff_t sort_cut = 4096; /* fewer are not worth a fork */
inline constexpr std::ptrdiff_t sort_small = 20;

template <std::random_access_iterator I, class Less> class quick
{
    using value = std::iter_value_t<I>;
    static constexpr bool plain = std::is_trivially_copyable_v<value> && sizeof(value) <= 32;

  public:
    quick(pool_ref on, Less &order, vigil_cancel_token *stop)
        : pool_(on), less_(order), token_(stop)
    {
    }

    /* below: an iterator to something not greater than any element; only if bounded. */
    void sort(I first, I last, bool bounded, I below, unsigned bad_left)
    {
        while (last - first > sort_small) {
            if (last - first > sort_cut && vigil_cancel_status(token_) != 0)
                throw error(vigil_cancel_status(token_), "a parallel sort");
            if (bad_left == 0) {
                std::make_heap(first, last, std::ref(less_));
                std::sort_heap(first, last, std::ref(less_));
                return;
            }
            pivot_first(first, last);
            if (bounded && !less_(*below, *first)) {
                first = split(first, last, [&](const value &it, const value &pivot) {
                    return !less_(pivot, it);
                });
                continue; /* all in front equal the pivot, and are in place with it */
            }
            const I front = split(
                first, last, [&](const value &it, const value &pivot) { return less_(it, pivot); });
            const I middle = front - 1;
            std::iter_swap(first, middle);
            const auto fewer = std::min(middle - first, last - front);
            if (fewer < (last - first) / 8) {
                bad_left--;
                break_pattern(first, middle);
                break_pattern(front, last);
            }
            if (fewer > sort_cut) {
                join(
                    pool_, [&] { sort(first, middle, bounded, below, bad_left); },
                    [&] { sort(front, last, true, middle, bad_left); });
                return;
            }
            if (middle - first < last - front) {
                sort(first, middle, bounded, below, bad_left);
                first = front;
                bounded = true;
                below = middle;
            } else {
                sort(front, last, true, middle, bad_left);
                last = middle;
            }
        }
        insertion(first, last);
    }

  private:
    /* Move what `belongs` in front behind the pivot, which is first; where the rest begins. There is
       no branch on the data: every element is swapped, and the front advances by the answer. */
    template <class Belongs> I split(I first, I last, Belongs &&belongs)
    {
        I front = first + 1;
        if constexpr (plain) {
            const value pivot = *first;
            for (I at = front; at != last; ++at) {
                const value it = *at;
                *at = *front;
                *front = it;
                front += belongs(it, pivot) ? 1 : 0;
            }
        } else {
            for (I at = front; at != last; ++at)
                if (belongs(*at, *first)) {
                    std::iter_swap(front, at);
                    ++front;
                }
        }
        return front;
    }
    void order(I a, I b)
    {
        if (less_(*b, *a))
            std::iter_swap(a, b);
    }
    void order(I a, I b, I c)
    {
        order(a, b);
        order(b, c);
        order(a, b);
    }
    void pivot_first(I first, I last)
    {
        const auto quarter = (last - first) / 4;
        const I low = first + quarter;
        const I middle = first + 2 * quarter;
        const I high = first + 3 * quarter;
        if (last - first > 128) {
            order(low - 1, low, low + 1);
            order(middle - 1, middle, middle + 1);
            order(high - 1, high, high + 1);
        }
        order(low, middle, high);
        std::iter_swap(first, middle);
    }
    void break_pattern(I first, I last)
    {
        const auto count = last - first;
        std::uint64_t random = static_cast<std::uint64_t>(count);
        for (int quarter = 1; quarter <= 3 && count >= 8; quarter++)
            for (int near = -1; near <= 1; near++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                std::iter_swap(first + (count / 4 * quarter + near),
                               first + static_cast<std::iter_difference_t<I>>(
                                           random % static_cast<std::uint64_t>(count)));
            }
    }
    void insertion(I first, I last)
    {
        if (first == last)
            return;
        for (I at = first + 1; at != last; ++at) {
            if (!less_(*at, *(at - 1)))
                continue;
            value kept = std::move(*at);
            I hole = at;
            do {
                *hole = std::move(*(hole - 1));
                --hole;
            } while (hole != first && less_(kept, *(hole - 1)));
            *hole = std::move(kept);
        }
    }

    pool_ref pool_;
    Less &less_;
    vigil_cancel_token *token_;
};

template <std::random_access_iterator I, class Less> class merging
{
    using value = std::iter_value_t<I>;

  public:
    merging(pool_ref on, Less &order, vigil_cancel_token *stop)
        : pool_(on), less_(order), token_(stop)
    {
    }
    template <class From, class To>
    void sort(From first, std::ptrdiff_t count, To other, bool to_other)
    {
        if (count > sort_cut && vigil_cancel_status(token_) != 0)
            throw error(vigil_cancel_status(token_), "a parallel sort");
        if (count <= sort_cut) {
            std::stable_sort(first, first + count, std::ref(less_));
            if (to_other)
                std::move(first, first + count, other);
            return;
        }
        const auto half = count / 2;
        join(
            pool_, [&] { sort(first, half, other, !to_other); },
            [&] { sort(first + half, count - half, other + half, !to_other); });
        if (to_other)
            merge(first, half, first + half, count - half, other);
        else
            merge(other, half, other + half, count - half, first);
    }

  private:
    template <class From, class To>
    void merge(From left, std::ptrdiff_t lefts, From right, std::ptrdiff_t rights, To out)
    {
        if (lefts + rights <= 2 * sort_cut) {
            std::merge(std::make_move_iterator(left), std::make_move_iterator(left + lefts),
                       std::make_move_iterator(right), std::make_move_iterator(right + rights), out,
                       std::ref(less_));
            return;
        }
        std::ptrdiff_t l;
        std::ptrdiff_t r;
        if (lefts >= rights) {
            l = lefts / 2;
            r = std::lower_bound(right, right + rights, left[l], std::ref(less_)) - right;
        } else {
            r = rights / 2;
            l = std::upper_bound(left, left + lefts, right[r], std::ref(less_)) - left;
        }
        join(
            pool_, [&] { merge(left, l, right, r, out); },
            [&] { merge(left + l, lefts - l, right + r, rights - r, out + (l + r)); });
    }

    pool_ref pool_;
    Less &less_;
    vigil_cancel_token *token_;
};

/* Run fn inside a task of the pool. */
template <class F> void run_inside(pool_ref pool, F &&fn, const parallel_options &options)
{
    parallel_options once(1);
    once.priority = options.priority;
    run_pieces(
        pool, 1, [&](std::size_t, std::size_t) { fn(); }, once);
}
} // namespace detail

/* Sort the range in place. Equal elements may change places; the worst case is n log n. Of the
   options it uses priority and token. */
template <detail::random_range R, class Less = std::less<>>
void parallel_sort(pool_ref pool, R &&range, Less less = {}, const parallel_options &options = {})
{
    using I = detail::iterator_of<R>;
    const I first = std::begin(range);
    const I last = std::end(range);
    if (last - first < 2)
        return;
    unsigned bad = 0;
    for (auto rest = last - first; rest > 1; rest /= 2)
        bad++;
    detail::quick<I, Less> work(pool, less, options.token);
    detail::run_inside(
        pool, [&] { work.sort(first, last, false, first, bad); }, options);
}

/* The same; equal elements keep their order. Needs room for as many elements, which are default
   constructed. */
template <detail::random_range R, class Less = std::less<>>
void parallel_stable_sort(pool_ref pool, R &&range, Less less = {},
                          const parallel_options &options = {})
{
    using I = detail::iterator_of<R>;
    const I first = std::begin(range);
    const auto count = std::end(range) - first;
    if (count < 2)
        return;
    const auto other =
        std::make_unique_for_overwrite<std::iter_value_t<I>[]>(static_cast<std::size_t>(count));
    detail::merging<I, Less> work(pool, less, options.token);
    detail::run_inside(
        pool, [&] { work.sort(first, count, other.get(), false); }, options);
}

} // namespace vigil

#endif
