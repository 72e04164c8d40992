// SPDX-License-Identifier: MIT
/* Boost.Asio with callbacks. */
#include "../peer/peer.h"
#include "harness.h"

#include <boost/asio.hpp>
#include <cstring>
#include <memory>
#include <string>

using boost::asio::ip::tcp;
using boost::asio::ip::udp;

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

/* io-lines */
struct session : std::enable_shared_from_this<session> {
    explicit session(tcp::socket it) : socket(std::move(it))
    {
    }
    void read()
    {
        boost::asio::async_read_until(
            socket, boost::asio::dynamic_buffer(input), '\n', [self = shared_from_this()](auto error, std::size_t got) {
                if (error)
                    return;
                boost::asio::async_write(self->socket, boost::asio::buffer(self->input.data(), got),
                                         [self, got](auto failed, std::size_t) {
                                             self->input.erase(0, got);
                                             if (!failed)
                                                 self->read();
                                         });
            });
    }
    tcp::socket socket;
    std::string input;
};

/* io-udp */
struct datagrams {
    explicit datagrams(boost::asio::io_context &context)
        : socket(context, udp::endpoint(boost::asio::ip::address_v4::loopback(), 0))
    {
    }
    void receive()
    {
        socket.async_receive_from(boost::asio::buffer(buffer), peer, [this](auto error, std::size_t got) {
            if (!error)
                socket.send_to(boost::asio::buffer(buffer, got), peer);
            receive();
        });
    }
    udp::socket socket;
    udp::endpoint peer;
    char buffer[2048];
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

template <class Served> void accept(tcp::acceptor &acceptor)
{
    acceptor.async_accept([&acceptor](auto error, tcp::socket socket) {
        if (!error) {
            socket.set_option(tcp::no_delay(true));
            std::make_shared<Served>(std::move(socket))->read();
        }
        accept<Served>(acceptor);
    });
}
} // namespace

void io_serve(const char *bench)
{
    boost::asio::io_context context(1);
    if (std::strcmp(bench, "io-udp") == 0) {
        datagrams it(context);
        io_listening(it.socket.local_endpoint().port());
        it.receive();
        context.run();
        return;
    }
    tcp::acceptor acceptor(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    io_listening(acceptor.local_endpoint().port());
    if (std::strcmp(bench, "io-copy") == 0)
        accept_two(acceptor);
    else if (std::strcmp(bench, "io-lines") == 0)
        accept<session>(acceptor);
    else
        accept<connection>(acceptor);
    context.run();
}
