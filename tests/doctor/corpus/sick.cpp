// SPDX-License-Identifier: MIT
// sick NAME - the ways to hang of C++, see sick.c.
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

static std::mutex left_door, right_door;
static std::shared_mutex archive;
static std::promise<void> here[2];

static void say_ready()
{
    std::puts("ready");
    std::fflush(stdout);
}

static void cross(std::mutex &from, std::mutex &to, std::promise<void> &mine, std::shared_future<void> other)
{
    std::lock_guard<std::mutex> one(from);
    mine.set_value();
    other.wait();
    std::lock_guard<std::mutex> two(to);
}

static void doors()
{
    auto first = here[0].get_future().share(), second = here[1].get_future().share();
    std::thread a([&] { cross(left_door, right_door, here[0], second); });
    std::thread b([&] { cross(right_door, left_door, here[1], first); });
    first.wait();
    second.wait();
    say_ready();
    a.join();
    b.join();
}

static void forgotten_promise()
{
    std::promise<int> answer;
    std::future<int> future = answer.get_future();
    say_ready();
    future.wait();
}

static void shared_lock()
{
    std::unique_lock<std::shared_mutex> writer(archive);
    say_ready();
    std::thread reader([] { std::shared_lock<std::shared_mutex> lock(archive); });
    reader.join();
}

static void notified_too_early()
{
    std::mutex lock;
    std::condition_variable changed;
    changed.notify_all();
    std::unique_lock<std::mutex> held(lock);
    say_ready();
    changed.wait(held);
}

// The promise is kept by a thread that needs a lock first.
static void future_under_lock()
{
    std::promise<int> answer;
    std::future<int> future = answer.get_future();
    std::lock_guard<std::mutex> held(left_door);
    std::thread other([&] {
        std::lock_guard<std::mutex> wanted(left_door);
        answer.set_value(1);
    });
    say_ready();
    future.wait();
    other.join();
}

static void short_latch()
{
    static std::latch three(3);
    std::thread other([] { three.arrive_and_wait(); });
    say_ready();
    three.arrive_and_wait();
    other.join();
}

static void never_released()
{
    static std::counting_semaphore<4> tokens(0);
    say_ready();
    tokens.acquire();
}

// A static variable whose constructor waits for a thread that needs it.
struct settings {
    settings();
};
static settings &the_settings()
{
    static settings one;
    return one;
}
settings::settings()
{
    std::thread other([] { (void)the_settings(); });
    say_ready();
    other.join();
}
static void guard()
{
    (void)the_settings();
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } ways[] = {{"doors", doors},
                {"promise", forgotten_promise},
                {"shared", shared_lock},
                {"condition", notified_too_early},
                {"future-lock", future_under_lock},
                {"latch", short_latch},
                {"semaphore", never_released},
                {"guard", guard}};
    for (const auto &way : ways)
        if (argc > 1 && std::strcmp(argv[1], way.name) == 0)
            way.run();
    return 2;
}
