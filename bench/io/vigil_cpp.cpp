/* SPDX-License-Identifier: MIT */
/* Vigil with C++20 coroutines. */
#include "../peer/peer.h"
#include "harness.h"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <vigil/vigil.hpp>

/* The buffer is on the stack, not in the coroutine's frame. False: the peer has ended, or has gone. */
static bool answer(vigil::stream &stream, unsigned &state)
{
    char buffer[16384];
    const int64_t got = stream.try_read(buffer, std::nothrow);
    const unsigned count = got > 0 ? io_requests(buffer, static_cast<std::size_t>(got), &state) : 0;
    if (count != 0)
        stream.write({io_answers, count * std::size_t{IO_ANSWER_LENGTH}});
    return got > 0 || got == -EAGAIN;
}

static vigil::task<> serve(vigil::stream stream)
{
    unsigned state = 0;
    do
        co_await stream.readable();
    while (answer(stream, state));
}

static vigil::task<> serve_lines(vigil::stream stream)
{
    char line[IO_LINE];
    int64_t length;
    while ((length = co_await stream.read_until(line, '\n', std::nothrow)) > 0)
        stream.write({line, static_cast<std::size_t>(length)});
}

void io_serve(const char *bench)
{
    vigil::loop loop;
    vigil::listener listener(loop, vigil::address("127.0.0.1:0"),
                             std::strcmp(bench, "io-lines") == 0 ? serve_lines : serve);
    const vigil::address where = listener.where();
    io_listening(ntohs(reinterpret_cast<const sockaddr_in *>(&where.storage)->sin_port));
    loop.run();
}
