/* SPDX-License-Identifier: MIT */
/* loop.hpp: lambdas as callbacks, and objects that end with their scope. */
#include "check.hpp"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

struct pipe_pair {
    int in = -1;
    int out = -1;
    pipe_pair()
    {
        int ends[2];
        must(::pipe(ends) == 0);
        in = ends[0];
        out = ends[1];
    }
    ~pipe_pair()
    {
        ::close(in);
        ::close(out);
    }
};

TEST(posts_ticks_and_the_rest_run_in_their_order)
{
    vigil::loop loop;
    std::string order;
    loop.post([&] {
        loop.defer([&, guard = counted()] { order += 'd'; });
        loop.immediate([&] { order += 'i'; });
        loop.microtask([&, guard = std::make_unique<counted>()] { order += 'm'; });
        loop.tick([&] { order += 't'; });
        order += 'p';
        must(loop.is_owner());
    });
    must(!loop.run());
    must(order == "ptmid");
    must(loop.state() == VIGIL_LOOP_TERMINATED);
    must_refuse(-ESHUTDOWN, [&] { loop.post([guard = counted()] {}); });
    must(loop.try_post([guard = counted()] {}) == -ESHUTDOWN);
}

TEST(what_never_runs_is_destroyed)
{
    vigil::loop loop;
    loop.post([guard = counted()] { must(false && "reached"); });
    loop.immediate([guard = counted()] { must(false && "reached"); });
    const vigil::timer timer(loop, 1h, [guard = counted()] { must(false && "reached"); });
    const pipe_pair pipe;
    const vigil::watch watch(loop, pipe.in, VIGIL_FD_READ, [guard = counted()](unsigned) { must(false && "reached"); });
    loop.close();
}

static std::string uncaught_text;

TEST(an_exception_ends_the_callback_alone)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = [](void *, const vigil_uncaught *it) {
        try {
            std::rethrow_exception(vigil::take_uncaught());
        } catch (const std::exception &thrown) {
            uncaught_text += thrown.what() + std::string(":") + std::to_string(it->status) + " ";
        }
    };
    uncaught_text.clear();
    vigil::loop loop(options);
    int after = 0;
    loop.post([guard = counted()] { throw std::runtime_error("a post"); });
    loop.post([&] { after++; });
    const vigil::timer timer(loop, 1us, [guard = counted()] { throw vigil::error(-ENOSPC, "a timer"); });
    const vigil::timer later(loop, 2ms, [&] { after++; });
    loop.run();
    must(after == 2);
    must(uncaught_text.find("a post:-5 ") == 0 && uncaught_text.find("a timer") != std::string::npos);
    must(uncaught_text.find(":-28 ") != std::string::npos);
    must(loop.stats().uncaught == 2);
}

TEST(timers_fire_repeat_and_end_with_their_scope)
{
    vigil::loop loop;
    std::string order;
    vigil::timer beat;
    int beats = 0;
    beat = vigil::timer::every(loop, 1ms, [&, guard = counted()] {
        if (++beats == 3)
            beat = vigil::timer(); /* ends inside its own callback */
    });
    vigil::timer once(loop, 1us, [&] {
        order += 'o';
        if (order.size() < 3)
            must(once.again(1us)); /* back to life */
    });
    {
        const vigil::timer gone(loop, 1us, [] { must(false && "reached"); });
    }
    vigil::timer moved(loop, 1us, [&, guard = counted()] { order += 'm'; });
    const vigil::timer there = std::move(moved);
    must(!moved && there);
    vigil::timer cancelled(loop, 1us, [] { must(false && "reached"); });
    must(cancelled.cancel() && !cancelled.cancel());
    loop.run();
    must(beats == 3);
    must(order.find('m') != std::string::npos && order.size() >= 3);
    must(!once.again(1us)); /* the loop has ended */
}

TEST(watches_see_events_and_may_end_inside_their_callback)
{
    vigil::loop loop;
    const pipe_pair pipe;
    std::string seen;
    vigil::watch watch;
    watch = vigil::watch(loop, pipe.in, VIGIL_FD_READ, [&, guard = counted()](unsigned events) {
        must((events & VIGIL_FD_READ) != 0);
        char byte = 0;
        must(::read(pipe.in, &byte, 1) == 1);
        seen += byte;
        if (byte == 'c')
            watch = vigil::watch();
    });
    must(::write(pipe.out, "abc", 3) == 3);
    loop.run();
    must(seen == "abc");
    must_refuse(-ESHUTDOWN, [&] { vigil::watch late(loop, pipe.in, VIGIL_FD_READ, [guard = counted()](unsigned) {}); });
}

TEST(signals_and_children_are_objects_too)
{
    vigil::loop loop;
    std::string seen;
    const vigil::keep_alive alive(loop);
    const vigil::signal usr(loop, SIGUSR1, [&, guard = counted()](const vigil_signal_info &info) {
        must(info.signo == SIGUSR1);
        seen += 's';
    });
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(7);
    const vigil::child child(loop, pid, [&, guard = counted()](int code, int status) {
        must(code == CLD_EXITED && status == 7);
        seen += 'c';
        ::raise(SIGUSR1);
    });
    must(loop.explain().find("is kept alive by") != std::string::npos);
    while (seen.find('s') == std::string::npos)
        must(loop.run(VIGIL_RUN_ONCE));
    must(seen == "cs");
}

TEST(posts_from_other_threads_arrive)
{
    vigil::loop loop;
    int count = 0;
    const int each = scaled(20000, 500);
    {
        auto alive = std::make_unique<vigil::keep_alive>(loop);
        std::thread first([&] {
            for (int i = 0; i < each; i++)
                loop.post([&count, guard = counted()] { count++; });
        });
        std::thread second([&] {
            for (int i = 0; i < each; i++)
                loop.post([&count] { count++; });
            first.join();
            loop.post([&] { alive.reset(); });
        });
        loop.run();
        second.join();
    }
    must(count == 2 * each);
}

TEST(a_loop_stops_and_goes_on_and_shuts_down)
{
    vigil::loop loop;
    loop.post([&] { loop.pause(); });
    must(loop.run());
    bool ran = false;
    loop.post([&] { ran = true; });
    must(loop.shutdown(1s));
    must(ran);
    vigil::loop other = std::move(loop);
    must(loop.get() == nullptr);
    loop = vigil::loop::adopt(other.release());
}

int main()
{
    return run_tests();
}
