/* SPDX-License-Identifier: MIT */
/* The same work on one thread. */
#include "harness.hpp"

struct serial_peer {
    static void start(unsigned)
    {
    }
    static void stop()
    {
    }
    template <class F> static void inside(F &&fn)
    {
        fn();
    }
    template <class A, class B> static void join(A &&a, B &&b)
    {
        a();
        b();
    }
    template <class F> static void for_each(std::size_t n, F &&fn)
    {
        for (std::size_t i = 0; i < n; i++)
            fn(i);
    }
    static std::uint64_t sum(const std::uint32_t *v, std::size_t n)
    {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; i++)
            sum += v[i];
        return sum;
    }
    static void sort(std::uint32_t *first, std::uint32_t *last)
    {
        std::sort(first, last);
    }
    template <class F> static void grid(std::size_t side, F &&fn)
    {
        work::timed([&] {
            for (std::size_t i = 0; i < side * side; i++)
                fn();
        });
    }
    template <class F> static std::uint64_t pipe(std::size_t n, F &&fn)
    {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; i++)
            sum += fn(i);
        return sum;
    }
};

int main(int argc, char **argv)
{
    return work::run<serial_peer>(argc, argv);
}
