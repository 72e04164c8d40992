// SPDX-License-Identifier: MIT
/* Boost.Asio with callbacks. */
#include "../peer/peer.h"
#include "harness.h"

#include <boost/asio.hpp>
#include <cstring>
#include <memory>

using boost::asio::ip::tcp;

namespace
{
struct connection : std::enable_shared_from_this<connection> {
    explicit connection(tcp::socket it) : socket(std::move(it))
    {
    }
    void read()
    {
        socket.async_read_some(boost::asio::buffer(buffer), [self = shared_from_this()](auto error, std::size_t got) {
            if (error)
                return;
            const unsigned count = io_requests(self->buffer, got, &self->state);
            if (count == 0) {
                self->read();
                return;
            }
            boost::asio::async_write(self->socket,
                                     boost::asio::buffer(io_answers, count * std::size_t{IO_ANSWER_LENGTH}),
                                     [self](auto failed, std::size_t) {
                                         if (!failed)
                                             self->read();
                                     });
        });
    }
    tcp::socket socket;
    unsigned state = 0;
    char buffer[4096];
};

/* io-copy: what the first connection brings goes to the second. */
struct copy {
    explicit copy(tcp::socket in, tcp::socket out) : from(std::move(in)), to(std::move(out))
    {
    }
    void read()
    {
        from.async_read_some(boost::asio::buffer(buffer), [this](auto error, std::size_t got) {
            if (error)
                return;
            boost::asio::async_write(to, boost::asio::buffer(buffer, got), [this](auto failed, std::size_t) {
                if (!failed)
                    read();
            });
        });
    }
    tcp::socket from, to;
    char buffer[1 << 18];
};

void accept_two(tcp::acceptor &acceptor)
{
    acceptor.async_accept([&acceptor](auto, tcp::socket first) {
        acceptor.async_accept([in = std::move(first)](auto, tcp::socket second) mutable {
            (new copy(std::move(in), std::move(second)))->read();
        });
    });
}

void accept(tcp::acceptor &acceptor)
{
    acceptor.async_accept([&acceptor](auto error, tcp::socket socket) {
        if (!error) {
            socket.set_option(tcp::no_delay(true));
            std::make_shared<connection>(std::move(socket))->read();
        }
        accept(acceptor);
    });
}
} // namespace

void io_serve(const char *bench)
{
    boost::asio::io_context context(1);
    tcp::acceptor acceptor(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    io_listening(acceptor.local_endpoint().port());
    if (std::strcmp(bench, "io-copy") == 0)
        accept_two(acceptor);
    else
        accept(acceptor);
    context.run();
}
