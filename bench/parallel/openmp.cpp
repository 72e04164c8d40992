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
};

int main(int argc, char **argv)
{
    return work::run<openmp_peer>(argc, argv);
}
