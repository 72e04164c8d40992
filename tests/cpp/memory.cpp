/* SPDX-License-Identifier: MIT */
/* How often the C++ header allocates, and what happens when there is nothing to be had. */
#include "check.hpp"

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>

using namespace std::chrono_literals;
using vigil::task;

/* ---- operator new, counted; the n-th on this thread fails ------------------------------------------------------------ */

static thread_local bool watched = false;
static thread_local int allocations = 0;
static thread_local int fails_at = -1;

static void *allocate(std::size_t size)
{
    if (watched && allocations++ == fails_at)
        return nullptr;
    return std::malloc(size == 0 ? 1 : size);
}

VIGIL_NOINLINE void *operator new(std::size_t size)
{
    if (void *memory = allocate(size))
        return memory;
    throw std::bad_alloc();
}
VIGIL_NOINLINE void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    return allocate(size);
}
/* Not inlined, or gcc takes the pair apart and wonders. */
VIGIL_NOINLINE void operator delete(void *memory) noexcept
{
    std::free(memory);
}
VIGIL_NOINLINE void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
VIGIL_NOINLINE void operator delete(void *memory, const std::nothrow_t &) noexcept
{
    std::free(memory);
}

template <class F> int count_allocations(F &&body)
{
    allocations = 0;
    fails_at = -1;
    watched = true;
    body();
    watched = false;
    return allocations;
}

/* Let each allocation of body fail in turn. It must say so, or do without; and leave nothing behind. */
template <class F> void fail_each(F &&body)
{
    for (int at = 0;; at++) {
        allocations = 0;
        fails_at = at;
        watched = true;
        bool refused = false;
        try {
            body();
        } catch (const std::bad_alloc &) {
            refused = true;
        } catch (const vigil::error &it) {
            refused = it.status() == -ENOMEM;
            must(refused);
        }
        watched = false;
        const bool reached = allocations > at;
        if (!reached) {
            must(!refused);
            must(at > 0); /* else there was nothing to fail, and this shows nothing */
            return;
        }
    }
}

struct large {
    std::array<char, 100> bytes{};
};

TEST(a_task_is_one_allocation_at_most)
{
    vigil::pool pool(1);
    std::atomic<int> ran{0};
    const large ballast;
    must(count_allocations([&] { pool.submit([&ran] { ran.fetch_add(1); }); }) == 0);
    must(count_allocations([&] { pool.submit([&ran, ballast] { ran.fetch_add(ballast.bytes[0] + 1); }); }) == 1);
    must(count_allocations([&] { pool.submit_after(1us, [&ran, ballast] { ran.fetch_add(1 + ballast.bytes[1]); }); }) ==
         1);
    must(count_allocations([&] { (void)pool.call([&ran, ballast] { return ran.fetch_add(1 + ballast.bytes[2]); }); }) ==
         1);
    must(count_allocations([&] {
             vigil::group group(pool);
             group.spawn([&ran, ballast] { ran.fetch_add(1 + ballast.bytes[3]); });
             group.wait();
         }) == 0);
    must(count_allocations([&] {
             vigil::group group(pool);
             const vigil::forked task(group, [&ran, ballast] { ran.fetch_add(1 + ballast.bytes[3]); });
             group.wait();
             vigil::parallel_for(
                 pool, 0, 1000, [&](int) {}, 1);
         }) == 0);
    must(count_allocations([&] {
             vigil::join(
                 pool, [&] { ran.fetch_add(1); }, [&] { ran.fetch_add(1); });
             vigil::parallel_for(pool, 0, 1000, [&](int) {});
         }) == 0);
    must(pool.wait_idle());
    must(ran.load() == 8);
}

TEST(a_callback_is_one_allocation_at_most)
{
    vigil::loop loop;
    int ran = 0;
    const large ballast;
    must(count_allocations([&] { loop.post([&ran] { ran++; }); }) == 0);
    must(count_allocations([&] { loop.post([&ran, ballast] { ran += 1 + ballast.bytes[0]; }); }) == 1);
    must(count_allocations([&] { loop.immediate([&ran, ballast] { ran += 1 + ballast.bytes[0]; }); }) == 1);
    vigil::timer timer;
    must(count_allocations(
             [&] { timer = vigil::timer(loop, 1us, [&ran, ballast] { ran += 1 + ballast.bytes[0]; }); }) == 1);
    loop.run();
    must(ran == 4);
}

TEST(waiting_allocates_nothing_besides_the_frame)
{
    vigil::loop loop;
    vigil::pool pool(1);
    const auto body = [&]() -> task<> {
        co_await vigil::sleep_for(loop, 1us);
        watched = true;
        allocations = 0;
        co_await vigil::sleep_for(loop, 1us);
        co_await loop;
        const int got = co_await vigil::offload(loop, pool, [] { return 5; });
        watched = false;
        must(got == 5 && allocations == 0);
    };
    fails_at = -1;
    loop.run(body());
}

TEST(no_memory_for_tasks_is_an_error_and_nothing_is_lost)
{
    vigil::pool pool(1);
    std::atomic<int> ran{0};
    fail_each([&] {
        pool.submit([&ran, guard = counted(), ballast = large()] { ran.fetch_add(1 + ballast.bytes[0]); });
        vigil::job<counted> job = pool.call([&ran, guard = counted(), ballast = large()] {
            ran.fetch_add(1 + ballast.bytes[0]);
            return counted();
        });
        (void)job.get();
        vigil::group group(pool);
        for (int i = 0; i < 3; i++)
            group.spawn([&ran, guard = counted(), ballast = large()] { ran.fetch_add(1 + ballast.bytes[0]); });
        group.wait();
    });
    must(pool.wait_idle());
    must(pool.stats().total.completed == pool.stats().total.submitted);
    fails_at = 0;
    allocations = 0;
    watched = true;
    const int rc = pool.try_submit([guard = counted(), ballast = large()] { must(ballast.bytes[0] == 1); });
    watched = false;
    must(rc == -ENOMEM);
}

TEST(no_memory_for_callbacks_is_an_error_and_nothing_is_lost)
{
    vigil::loop loop;
    fail_each([&] {
        loop.post([guard = counted(), ballast = large()] { must(ballast.bytes[0] == 0); });
        const vigil::timer timer(loop, 1us, [guard = counted(), ballast = large()] { must(ballast.bytes[0] == 0); });
        loop.defer([guard = counted(), ballast = large()] { must(ballast.bytes[0] == 0); });
    });
    loop.run();
}

static task<int> number(int n)
{
    const counted guard;
    co_return n;
}

static task<int> hop(vigil::pool_ref pool, int n)
{
    const counted guard;
    co_await pool;
    co_return n;
}

TEST(no_memory_for_a_frame_is_thrown_where_the_task_is_made)
{
    vigil::pool pool(2);
    fail_each([&] {
        const auto body = [&]() -> task<int> {
            std::vector<task<int>> tasks;
            for (int i = 0; i < 3; i++)
                tasks.push_back(hop(pool, i));
            int sum = 0;
            auto all = vigil::when_all(std::move(tasks));
            for (int it : co_await std::move(all))
                sum += it;
            co_return sum + co_await number(4);
        };
        watched = true; /* the body may go on on a worker; here only this thread is watched */
        must(vigil::sync_wait(body()) == 7);
    });
}

TEST(no_memory_inside_a_scope_ends_the_scope_well)
{
    vigil::pool pool(2);
    fail_each([&] {
        std::atomic<int> ran{0};
        const auto leaf = [&ran](vigil::pool_ref it) -> task<> {
            const counted guard;
            co_await it;
            ran.fetch_add(1);
        };
        const auto body = [&](vigil::async_scope &scope) -> task<> {
            for (int i = 0; i < 4; i++)
                scope.start(leaf(pool));
            co_return;
        };
        vigil::sync_wait(vigil::in_scope(body));
        must(ran.load() == 4);
    });
}

TEST(no_memory_around_promises_rejects_or_throws)
{
    vigil::pool pool(1);
    fail_each([&] {
        vigil::loop loop;
        const auto body = [&]() -> task<int> {
            const counted guard;
            vigil::promise first = vigil::async(loop, pool, [] { return std::make_unique<counted>(); });
            (void)co_await first;
            vigil::promise second = vigil::to_promise(loop, number(5));
            vigil::promise third =
                second.then([guard_2 = counted()](vigil::value_view it) { return it.integer() + 1; });
            co_return static_cast<int>((co_await third).integer());
        };
        must(loop.run(body()) == 6);
    });
}

int main()
{
    return run_tests();
}
