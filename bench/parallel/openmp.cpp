/* SPDX-License-Identifier: MIT */
/* OpenMP: dynamic schedule for loops, tasks for forks. */
#include "harness.hpp"

#include <omp.h>

struct openmp_peer {
    static void start(unsigned workers)
    {
        omp_set_num_threads(static_cast<int>(workers));
    }
    static void stop()
    {
    }
    template <class F> static void inside(F &&fn)
    {
#pragma omp parallel
#pragma omp single
        fn();
    }
    template <class A, class B> static void join(A &&a, B &&b)
    {
#pragma omp task shared(b)
        b();
        a();
#pragma omp taskwait
    }
    template <class F> static void for_each(std::size_t n, F &&fn)
    {
#pragma omp parallel for schedule(dynamic)
        for (std::size_t i = 0; i < n; i++)
            fn(i);
    }
    static std::uint64_t sum(const std::uint32_t *v, std::size_t n)
    {
        std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (std::size_t i = 0; i < n; i++)
            sum += v[i];
        return sum;
    }
    template <class F> static void grid(std::size_t side, F &&fn)
    {
        std::vector<char> cells((side + 1) * (side + 1)); /* only their addresses are used */
        char *const c = cells.data();
        const auto once = [&] {
#pragma omp parallel
#pragma omp single
            for (std::size_t i = 1; i <= side; i++)
                for (std::size_t j = 1; j <= side; j++) {
                    const std::size_t at = i * (side + 1) + j;
#pragma omp task depend(in : c[at - 1], c[at - side - 1]) depend(out : c[at]) shared(fn)
                    fn();
                }
        };
        once();
        work::timed(once);
    }
};

int main(int argc, char **argv)
{
    return work::run<openmp_peer>(argc, argv);
}
