/* SPDX-License-Identifier: MIT */
/* Streams, connections and the promises of other headers in coroutines. */
#include "check.hpp"

#include <vigil/vigil.h>

#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using vigil::task;

static task<> echo_lines(vigil::stream stream)
{
    const counted guard;
    char line[64];
    while (const std::size_t length = co_await stream.read_until(line, '\n')) {
        stream.write({line, length});
        co_await stream.drained();
    }
}

TEST(a_server_and_a_client_talk_in_lines)
{
    vigil::loop loop;
    const auto client = [](vigil::loop_ref it) -> task<std::string> {
        const counted guard;
        vigil::listener listener(it, vigil::address("127.0.0.1:0"), echo_lines);
        const vigil::address where = listener.where();
        vigil::stream stream = co_await vigil::connect(it, where);
        must(static_cast<bool>(stream));
        std::string text;
        char bytes[64];
        stream.write("one\ntwo\n");
        for (int i = 0; i < 2; i++)
            text.append(bytes, co_await stream.read_until(bytes, '\n'));
        stream.write("1234567\n");
        text.append(bytes, co_await stream.read_exactly(std::span(bytes, 4)));
        co_await stream.readable();
        const int64_t got = stream.try_read(bytes);
        must(got == 4);
        must(stream.try_read(bytes) == -EAGAIN);
        text.append(bytes, static_cast<std::size_t>(got));
        stream.finish();
        must(co_await stream.read(bytes) == 0); /* the server has ended too */
        co_return text;
    };
    must(loop.run(client(loop)) == "one\ntwo\n1234567\n");
}

TEST(what_fails_is_thrown)
{
    vigil::loop loop;
    const auto body = [](vigil::loop_ref it) -> task<int> {
        const counted guard;
        char byte[1];
        int ends[2];
        must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        vigil::stream stream(it, ends[0]);
        must(::write(ends[1], "ab", 2) == 2);
        int status = 0;
        try {
            (void)co_await stream.read_until(byte, 'x');
        } catch (const vigil::error &it_is) {
            status = it_is.status();
        }
        must(status == -EMSGSIZE);
        must(::close(ends[1]) == 0);
        must(co_await stream.read(byte) == 1);
        must(co_await stream.read(byte) == 0);
        try {
            (void)co_await vigil::connect(it, vigil::address("unix:/no/such/socket"));
        } catch (const vigil::error &it_is) {
            co_return it_is.status();
        }
        co_return 0;
    };
    must(loop.run(body(loop)) == -ENOENT);
}

/* Its connection is reset by the client: every way to read and to write tells it as a result. */
static task<> serve_one_that_goes(vigil::stream stream, int64_t *told)
{
    const counted guard;
    char bytes[8];
    must(co_await stream.read(bytes, std::nothrow) == 1);
    must(stream.write("+", std::nothrow) == 0);
    told[0] = co_await stream.read_until(bytes, '\n', std::nothrow);
    told[1] = co_await stream.read_exactly(bytes, std::nothrow);
    told[2] = co_await stream.read(bytes, std::nothrow);
    told[3] = stream.try_read(bytes, std::nothrow);
    told[4] = stream.write("+", std::nothrow);
}

TEST(a_reset_is_a_result_where_nothing_is_to_be_thrown)
{
    int64_t told[5] = {};
    vigil::loop loop;
    const auto client = [](vigil::loop_ref it, int64_t *results) -> task<> {
        const counted guard;
        vigil::listener listener(it, vigil::address("127.0.0.1:0"),
                                 [=](vigil::stream got) { return serve_one_that_goes(std::move(got), results); });
        vigil::stream stream = co_await vigil::connect(it, listener.where());
        char byte[1];
        must(stream.write("?", std::nothrow) == 0);
        must(co_await stream.read(byte, std::nothrow) == 1);
        must(stream.try_read(byte, std::nothrow) == -EAGAIN);
        must(vigil_stream_reset(stream.release()) == 0);
    };
    loop.run(client(loop, told));
    loop.run(); /* until the server's stream has ended */
    for (const int64_t each : told)
        must(each == -ECONNRESET);
}

TEST(a_full_stream_says_so_without_an_exception_and_drains)
{
    vigil::loop loop;
    const auto body = [](vigil::loop_ref it) -> task<> {
        const counted guard;
        int ends[2];
        must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        vigil::stream from(it, ends[0]), to(it, ends[1]);
        const std::string much(std::size_t{1} << 20U, 'x');
        std::string got(much.size(), '-');
        must(from.write(much, std::nothrow) == 1);
        must(co_await to.read_exactly(got, std::nothrow) == static_cast<int64_t>(much.size()));
        co_await from.drained();
        must(got == much);
        must(from.write("y", std::nothrow) == 0);
    };
    loop.run(body(loop));
}

TEST(the_end_of_the_loop_ends_a_read)
{
    int ends[2];
    must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    int status = 0;
    {
        vigil::loop loop;
        const auto body = [](vigil::loop_ref it, int fd, int *told) -> task<> {
            const counted guard;
            vigil::stream stream(it, fd);
            char byte[1];
            try {
                (void)co_await stream.read(byte);
            } catch (const vigil::error &it_is) {
                *told = it_is.status();
            }
        };
        vigil::detach(body(loop, ends[0], &status));
    }
    must(status == -ESHUTDOWN);
    must(::close(ends[1]) == 0);
}

TEST(every_promise_of_the_c_headers_is_awaited)
{
    vigil::loop loop;
    vigil::pool pool(2);
    const auto body = [](vigil::loop_ref it, vigil_pool *workers) -> task<int> {
        const counted guard;
        vigil_files on = VIGIL_FILES_INIT;
        on.loop = it.get();
        on.pool = workers;
        const auto loaded =
            co_await vigil::promised(vigil_promise_load_file, &on, "/proc/self/status", std::size_t{65536});
        must(static_cast<const vigil_bytes *>(loaded.raw().pointer)->length > 100);
        const char *const words[] = {"sh", "-c", "exit 5", nullptr};
        vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
        options.argv = words;
        vigil_process *process = nullptr;
        vigil::check(vigil_process_open(&process, it.get(), &options), "a child");
        const auto ended =
            co_await vigil::promised(vigil_promise_exit, process, static_cast<vigil_cancel_token *>(nullptr));
        const int status = static_cast<int>(ended.integer());
        (void)vigil_process_close(process);
        co_return WEXITSTATUS(status);
    };
    must(loop.run(body(loop, pool.get())) == 5);
}

int main()
{
    return run_tests();
}
