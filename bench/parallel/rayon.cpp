/* SPDX-License-Identifier: MIT */
/* rayon through C functions: its fork and its loop call a function pointer, as vigil's do. */
#include "harness.hpp"

extern "C" {
void rayon_start(std::uint32_t workers);
void rayon_inside(void (*fn)(void *), void *arg);
void rayon_join(void (*a)(void *), void *x, void (*b)(void *), void *y);
void rayon_for(std::size_t n, void (*fn)(void *, std::size_t), void *arg);
std::uint64_t rayon_sum(const std::uint32_t *v, std::size_t n);
void rayon_sort(std::uint32_t *v, std::size_t n);
void rayon_grid(std::size_t side, void (*fn)(void *), void *arg);
}

template <class F> static void call(void *arg)
{
    (*static_cast<F *>(arg))();
}

struct rayon_peer {
    static void start(unsigned workers)
    {
        rayon_start(workers);
    }
    static void stop()
    {
    }
    template <class F> static void inside(F &&fn)
    {
        rayon_inside(call<std::remove_reference_t<F>>, &fn);
    }
    template <class A, class B> static void join(A &&a, B &&b)
    {
        rayon_join(call<std::remove_reference_t<A>>, &a, call<std::remove_reference_t<B>>, &b);
    }
    template <class F> static void for_each(std::size_t n, F &&fn)
    {
        rayon_for(
            n, [](void *arg, std::size_t i) { (*static_cast<std::remove_reference_t<F> *>(arg))(i); }, &fn);
    }
    static std::uint64_t sum(const std::uint32_t *v, std::size_t n)
    {
        return rayon_sum(v, n);
    }
    static void sort(std::uint32_t *first, std::uint32_t *last)
    {
        rayon_sort(first, static_cast<std::size_t>(last - first));
    }
    template <class F> static void grid(std::size_t side, F &&fn)
    {
        rayon_grid(side, call<std::remove_reference_t<F>>, &fn);
        work::timed([&] { rayon_grid(side, call<std::remove_reference_t<F>>, &fn); });
    }
};

int main(int argc, char **argv)
{
    return work::run<rayon_peer>(argc, argv);
}
