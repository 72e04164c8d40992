/* SPDX-License-Identifier: MIT */
/* C++ under the checker: std::thread and what belongs to it, and this header as C++. */
#include <vigil_check.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

static int data;
static std::atomic<int> flag;
static std::mutex mutex;
static std::condition_variable condition;
static std::shared_mutex shared;
static std::once_flag once;

VGC_SCENARIO(cpp_race, "a race between two std::threads is found", .arg = nullptr, .expect = VGC_DATA_RACE)
{
    std::thread t([] { data = 1; });
    data = 2;
    t.join();
}

VGC_SCENARIO(cpp_mutex, "std::mutex and std::lock_guard")
{
    std::thread t([] {
        std::lock_guard<std::mutex> guard(mutex);
        data++;
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
        data++;
    }
    t.join();
    vgc_assert(data == 2, "both");
}

VGC_SCENARIO(cpp_condition, "std::condition_variable with a predicate")
{
    std::thread t([] {
        {
            std::lock_guard<std::mutex> guard(mutex);
            data = 1;
        }
        condition.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return data == 1; });
    }
    t.join();
}

VGC_SCENARIO(cpp_condition_lost, "a notification before the change is lost", .arg = nullptr, .expect = VGC_DEADLOCK)
{
    std::thread t([] {
        condition.notify_one();
        std::lock_guard<std::mutex> guard(mutex);
        data = 1;
    });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return data == 1; });
    }
    t.join();
}

VGC_SCENARIO(cpp_condition_time, "std::condition_variable with a limit")
{
    std::unique_lock<std::mutex> lock(mutex);
    vgc_assert(condition.wait_for(lock, std::chrono::seconds(1)) == std::cv_status::timeout, "the time is over");
}

VGC_SCENARIO(cpp_shared_mutex, "std::shared_mutex")
{
    std::thread reader([] {
        std::shared_lock<std::shared_mutex> lock(shared);
        vgc_assert(data % 2 == 0, "whole");
    });
    {
        std::unique_lock<std::shared_mutex> lock(shared);
        data++;
        data++;
    }
    reader.join();
}

static void wait_and_notify(std::memory_order order)
{
    std::thread t([order] {
        data = 42;
        flag.store(1, order);
        flag.notify_one();
    });
    flag.wait(0, std::memory_order_acquire);
    vgc_assert(data == 42, "data");
    t.join();
}

VGC_SCENARIO(cpp_wait_notify, "std::atomic wait and notify", .opt = {.futex_fences = true})
{
    wait_and_notify(std::memory_order_seq_cst);
}

/* libstdc++ 12 asks for waiters with a seq_cst load. Behind a store that is only a release, that load may come first: the waiter
   sees the old value and sleeps, the notifier sees no waiter. check/README.md tells more. */
VGC_SCENARIO(cpp_wait_notify_release, "... loses the wake-up behind a release store, in this library", .arg = nullptr,
             .expect = VGC_DEADLOCK, .opt = {.futex_fences = true})
{
    wait_and_notify(std::memory_order_release);
}

VGC_SCENARIO(cpp_notify_forgotten, "a store without notify leaves the waiter asleep", .arg = nullptr,
             .expect = VGC_DEADLOCK)
{
    std::thread t([] { flag.store(1, std::memory_order_release); });
    flag.wait(0, std::memory_order_acquire);
    t.join();
}

VGC_SCENARIO(cpp_call_once, "std::call_once")
{
    auto use = [] {
        std::call_once(once, [] { data = 7; });
        vgc_assert(data == 7, "made");
    };
    std::thread t(use);
    use();
    t.join();
}

struct made {
    int value;
    made() : value(0)
    {
        value = 9;
    }
};

static made &the_made()
{
    static made it;
    return it;
}

VGC_SCENARIO(cpp_local_static, "a local static is made once, and seen by all")
{
    auto use = [] { vgc_assert(the_made().value == 9, "made"); };
    std::thread t(use);
    use();
    t.join();
}
