/* SPDX-License-Identifier: MIT */
/* Locks, units and channels in C++: with the guards of the standard, and awaited by coroutines. */
#include "check.hpp"

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

int main()
{
    return run_tests();
}
