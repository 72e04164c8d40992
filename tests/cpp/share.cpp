/* SPDX-License-Identifier: MIT */
/* Locks, units and channels in C++: with the guards of the standard, and awaited by coroutines. */
#include "check.hpp"

#include <atomic>
#include <mutex>
#include <thread>

using vigil::task;

TEST(a_mutex_works_with_the_guards_of_the_standard)
{
    vigil::mutex mutex;
    int count = 0;
    const auto body = [&] {
        for (int i = 0; i < 1000; i++) {
            const std::lock_guard hold(mutex);
            count++;
        }
    };
    std::thread other(body);
    body();
    other.join();
    must(count == 2000);
    must(mutex.try_lock());
    must(!mutex.try_lock());
    mutex.unlock();
}

TEST(coroutines_and_a_thread_share_a_mutex_and_units)
{
    vigil::loop loop;
    vigil::mutex mutex;
    vigil::semaphore units(1);
    int count = 0;
    std::thread other([&] {
        for (int i = 0; i < 200; i++) {
            const std::lock_guard hold(mutex);
            count++;
        }
    });
    const auto body = [&](vigil::loop_ref it) -> task<> {
        for (int i = 0; i < 200; i++) {
            co_await units.acquire_on(it);
            co_await mutex.lock_on(it);
            count++;
            mutex.unlock();
            units.post();
        }
    };
    (void)loop.run(vigil::when_all(body(loop), body(loop)));
    other.join();
    must(count == 600);
    must(units.try_acquire());
}

TEST(messages_go_from_a_thread_to_a_coroutine_and_back)
{
    vigil::loop loop;
    vigil::channel<int> there(2), back(0);
    int sum = 0;
    std::thread other([&] {
        for (int i = 1; i <= 300; i++) {
            must(there.send(i));
            must(back.receive() == i + 1);
        }
        must(there.close());
        must(!there.send(1));
    });
    const auto body = [&](vigil::loop_ref it) -> task<> {
        int message = 0;
        try {
            for (;;) {
                co_await there.receive_on(it, message);
                sum += message++;
                co_await back.send_on(it, message);
            }
        } catch (const vigil::error &closed) {
            must(closed.status() == -EPIPE);
        }
    };
    loop.run(body(loop));
    other.join();
    must(sum == 300 * 301 / 2);
    must(!there.receive());
}

TEST(coroutines_and_a_thread_share_the_other_objects)
{
    vigil::loop loop;
    vigil::rwlock rwlock;
    vigil::mutex mutex;
    vigil::condition changed;
    vigil::latch opened(1);
    vigil::barrier meeting(2);
    vigil::once once;
    int value = 0, calls = 0;
    std::atomic<int> last = 0; // both add to it after they have met
    std::thread other([&] {
        {
            const std::unique_lock hold(rwlock);
            value = 1;
        }
        opened.count_down();
        once.call([&] { calls++; });
        last += meeting.arrive_and_wait();
        const std::lock_guard hold(mutex);
        value = 2;
        changed.notify_one();
    });
    const auto body = [&](vigil::loop_ref it) -> task<> {
        co_await opened.wait_on(it);
        co_await rwlock.lock_shared_on(it);
        must(value == 1);
        rwlock.unlock_shared();
        co_await rwlock.lock_on(it);
        rwlock.unlock();
        const vigil::value was_last = co_await meeting.arrive_on(it);
        last += static_cast<int>(was_last.integer());
        co_await mutex.lock_on(it);
        while (value != 2)
            co_await changed.wait_on(it, mutex);
        mutex.unlock();
    };
    loop.run(body(loop));
    other.join();
    once.call([&] { calls++; });
    must(calls == 1 && last == 1);
    try {
        vigil::once().call([] { throw 5; });
        must(false);
    } catch (int thrown) {
        must(thrown == 5);
    }
}

TEST(a_coroutine_selects_among_channels)
{
    vigil::loop loop;
    vigil::channel<int> left(0), right(4);
    int sums[2] = {0, 0};
    std::thread other([&] {
        for (int i = 1; i <= 100; i++) {
            must(left.send(i));
            must(right.send(i));
        }
    });
    const auto body = [&](vigil::loop_ref it) -> task<> {
        int message = 0;
        vigil_channel_case cases[2] = {};
        cases[0].channel = left.get();
        cases[1].channel = right.get();
        cases[0].receive = cases[1].receive = &message;
        for (int i = 0; i < 200; i++) {
            const vigil::value done = co_await vigil::select_on(it, cases, 2);
            must(cases[done.integer()].status == 0);
            sums[done.integer()] += message;
        }
    };
    loop.run(body(loop));
    other.join();
    must(sums[0] == 5050 && sums[1] == 5050);
}

TEST(a_coroutine_awaits_a_call_that_happens_once_and_an_idle_pool)
{
    vigil::loop loop;
    vigil::pool pool(2);
    vigil::once once;
    std::atomic<int> calls = 0, tasks = 0;
    int started = 0;
    const auto body = [&](vigil::loop_ref it) -> task<> {
        auto start = [&] {
            if (started++ == 0)
                throw vigil::error(-EAGAIN, "the first attempt"); /* has not happened */
            return vigil::async(it, pool, [&] { calls++; });
        };
        bool refused = false;
        try {
            co_await once.call_on(it, start);
        } catch (const vigil::error &e) {
            refused = e.status() == -EAGAIN;
        }
        must(refused);
        co_await once.call_on(it, start);
        co_await once.call_on(it, start);
        must(calls == 1 && started == 2);
        for (int i = 0; i < 100; i++)
            pool.submit([&] { tasks++; });
        co_await vigil::idle_on(it, pool);
        must(tasks == 100);
        co_await vigil::stop_on(it, pool);
        must(vigil_pool_call(
                 pool.get(), [](void *) { return 0; }, nullptr, nullptr, VIGIL_NORMAL) == -ESHUTDOWN);
    };
    loop.run(body(loop));
}

int main()
{
    return run_tests();
}
