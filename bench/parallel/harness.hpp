/* SPDX-License-Identifier: MIT */
/*
 * The parallel benches, written once for all peers in C++. A peer is a struct with static functions; what it lacks it does not
 * take part in:
 *
 *   start(workers), stop()
 *   inside(fn)              fn() where join may be called
 *   join(a, b)              both, perhaps at once
 *   for_each(n, fn)         fn(i) for i below n
 *   sum(v, n)               the sum of n numbers
 *   sort(first, last)
 *   grid(side, fn)          fn() for each cell of a square, after those above and to the left of it
 *   pipe(n, fn)             n items: counted serially, fn(item) in parallel, added up serially in order; the sum
 */
#ifndef BENCH_PARALLEL_HARNESS_HPP
#define BENCH_PARALLEL_HARNESS_HPP

#include "../peer/peer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace work
{
template <class P> std::uint64_t fib(unsigned n)
{
    if (n < 2)
        return n;
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    P::join([&] { left = fib<P>(n - 1); }, [&] { right = fib<P>(n - 2); });
    return left + right;
}

/* All solutions of n queens; every row of the tree forks, down to the last or to the third. */
struct board {
    unsigned all, columns, left, right;
};

template <class P> std::uint64_t queens(const board &b, unsigned depth, unsigned cut);

template <class P> std::uint64_t try_places(const board &b, unsigned places, unsigned depth, unsigned cut)
{
    const unsigned place = places & (0U - places);
    const unsigned rest = places ^ place;
    const board next = {b.all, b.columns | place, (b.left | place) << 1, (b.right | place) >> 1};
    if (rest == 0)
        return queens<P>(next, depth + 1, cut);
    std::uint64_t here = 0;
    std::uint64_t others = 0;
    if (depth >= cut)
        return queens<P>(next, depth + 1, cut) + try_places<P>(b, rest, depth, cut);
    P::join([&] { here = queens<P>(next, depth + 1, cut); }, [&] { others = try_places<P>(b, rest, depth, cut); });
    return here + others;
}

template <class P> std::uint64_t queens(const board &b, unsigned depth, unsigned cut)
{
    if (b.columns == b.all)
        return 1;
    const unsigned places = b.all & ~(b.columns | b.left | b.right);
    return places == 0 ? 0 : try_places<P>(b, places, depth, cut);
}

template <class P> void merge_sort(std::uint32_t *v, std::uint32_t *other, std::size_t n)
{
    if (n <= 1024) {
        std::sort(v, v + n);
        return;
    }
    const std::size_t half = n / 2;
    P::join([&] { merge_sort<P>(v, other, half); }, [&] { merge_sort<P>(v + half, other + half, n - half); });
    std::merge(v, v + half, v + half, v + n, other);
    std::memcpy(v, other, n * sizeof *v);
}

/* c += a b, halving the longest side. */
struct matrix_part {
    const float *a, *b;
    float *c;
    std::size_t rows, inner, columns, width;
};

/* Never inlined: it is the same code for all peers. Inside a peer's own functions the compiler makes other loops of it. */
__attribute__((noinline)) inline void multiply_block(const matrix_part &m)
{
    for (std::size_t i = 0; i < m.rows; i++)
        for (std::size_t k = 0; k < m.inner; k++)
            for (std::size_t j = 0; j < m.columns; j++)
                m.c[i * m.width + j] += m.a[i * m.width + k] * m.b[k * m.width + j];
}

template <class P> void multiply(const matrix_part &m)
{
    matrix_part one = m;
    matrix_part two = m;
    const std::size_t most = std::max({m.rows, m.inner, m.columns});
    if (most <= 32) {
        multiply_block(m);
        return;
    }
    const std::size_t half = most / 2;
    if (most == m.inner) { /* the halves add to the same place */
        one.inner = half;
        two.inner -= half;
        two.a += half;
        two.b += half * m.width;
        multiply<P>(one);
        multiply<P>(two);
        return;
    }
    if (most == m.rows) {
        one.rows = half;
        two.rows -= half;
        two.a += half * m.width;
        two.c += half * m.width;
    } else {
        one.columns = half;
        two.columns -= half;
        two.b += half;
        two.c += half;
    }
    P::join([&] { multiply<P>(one); }, [&] { multiply<P>(two); });
}

/* An unbalanced tree (UTS, binomial): the root has n children, any other node eight with probability q or none, so a subtree
   has 125 nodes on average and a few have many thousands. A node costs 24 rounds of a hash. */
struct uts_node {
    std::uint64_t seed;
};

inline uts_node uts_child(const uts_node &parent, unsigned which)
{
    std::uint64_t x = parent.seed + (which + 1) * 0x9e3779b97f4a7c15U;
    for (int round = 0; round < 24; round++) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
        x ^= x >> 31;
    }
    return {x};
}

template <class P> std::uint64_t uts_count(const uts_node &node);

template <class P> std::uint64_t uts_children(const uts_node &parent, unsigned first, unsigned count)
{
    if (count == 1)
        return uts_count<P>(uts_child(parent, first));
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    const unsigned half = count / 2;
    P::join([&] { left = uts_children<P>(parent, first, half); },
            [&] { right = uts_children<P>(parent, first + half, count - half); });
    return left + right;
}

template <class P> std::uint64_t uts_count(const uts_node &node)
{
    constexpr std::uint64_t q = 0x1fbe76c8b4395810U; /* 0.124 of 2^64 */
    return 1 + (node.seed < q ? uts_children<P>(node, 0, 8) : 0);
}

inline std::vector<std::uint32_t> numbers(std::size_t n)
{
    std::vector<std::uint32_t> v(n);
    std::uint64_t x = 88172645463325252U;
    for (auto &it : v) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        it = static_cast<std::uint32_t>(x >> 16);
    }
    return v;
}

template <class F> void timed(F &&fn)
{
    const std::uint64_t before = bench_now();
    fn();
    bench_print("ms", static_cast<double>(bench_now() - before) / 1e6);
}

template <class P> void run_forks(const bench_args &args, const char *name, std::size_t n)
{
    if (std::strcmp(name, "fib") == 0) {
        P::inside([] { (void)fib<P>(20); });
        timed([&] { P::inside([&] { bench_must(fib<P>(static_cast<unsigned>(n)) > 0, "fib"); }); });
    } else if (std::strcmp(name, "queens") == 0) {
        const board empty = {(1U << n) - 1, 0, 0, 0};
        const unsigned cut = args.param != 0 ? static_cast<unsigned>(args.param) : 99;
        P::inside([&] { (void)queens<P>({255, 0, 0, 0}, 0, cut); });
        timed([&] { P::inside([&] { bench_must(queens<P>(empty, 0, cut) > 0, "queens"); }); });
    } else if (std::strcmp(name, "uts") == 0) {
        P::inside([] { (void)uts_children<P>({2}, 0, 100); });
        timed([&] {
            P::inside([&] { bench_must(uts_children<P>({1}, 0, static_cast<unsigned>(n)) >= n, "every node"); });
        });
    } else if (std::strcmp(name, "merge") == 0) {
        auto v = numbers(n);
        auto other = v;
        timed([&] { P::inside([&] { merge_sort<P>(v.data(), other.data(), n); }); });
        bench_must(std::is_sorted(v.begin(), v.end()), "a sorted array");
    } else {
        std::vector<float> a(n * n, 1.0F);
        std::vector<float> c(n * n, 0.0F);
        timed([&] { P::inside([&] { multiply<P>({a.data(), a.data(), c.data(), n, n, n, n}); }); });
        bench_must(c.front() == static_cast<float>(n), "a product");
    }
}

template <class P> int run(int argc, char **argv)
{
    const bench_args args = bench_parse(argc, argv);
    const auto n = static_cast<std::size_t>(args.n);
    const char *name = args.bench + std::strlen("parallel-");
    P::start(args.workers);
    if (std::strcmp(name, "skew") == 0) { /* iteration i does i steps */
        const std::uint64_t unit = bench_rounds(130000000) / (n * n / 2) + 1;
        if constexpr (requires { P::for_each(n, [](std::size_t) {}); }) {
            P::for_each(1000, [](std::size_t) {});
            timed([&] { P::for_each(n, [unit](std::size_t i) { (void)bench_work(unit * i); }); });
        }
    } else if (std::strcmp(name, "reduce") == 0) {
        if constexpr (requires { P::sum(nullptr, n); }) {
            const std::vector<std::uint32_t> v(n, 3);
            timed([&] { bench_must(P::sum(v.data(), n) == std::uint64_t{3} * n, "the sum"); });
        }
    } else if (std::strcmp(name, "sort") == 0) {
        if constexpr (requires(std::uint32_t * it) { P::sort(it, it); }) {
            auto v = numbers(n);
            timed([&] { P::sort(v.data(), v.data() + n); });
            bench_must(std::is_sorted(v.begin(), v.end()), "a sorted array");
        }
    } else if (std::strcmp(name, "dag") == 0) {
        if constexpr (requires { P::grid(n, [] {}); }) {
            const std::uint64_t rounds = bench_rounds(1000);
            P::grid(n, [rounds] { (void)bench_work(rounds); });
        }
    } else if (std::strcmp(name, "pipe") == 0) {
        if constexpr (requires { P::pipe(n, [](std::uint64_t it) { return it; }); }) {
            const std::uint64_t rounds = bench_rounds(2000);
            std::uint64_t sum = 0;
            timed([&] { sum = P::pipe(n, [rounds](std::uint64_t it) { return (void)bench_work(rounds), it; }); });
            bench_must(sum == std::uint64_t{n} * (n - 1) / 2, "every item");
        }
    } else if constexpr (requires { P::join([] {}, [] {}); }) {
        run_forks<P>(args, name, n);
    }
    P::stop();
    return 0;
}
} // namespace work

#endif
