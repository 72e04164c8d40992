/* SPDX-License-Identifier: MIT */
/*
 * vigil/io.hpp - streams, listeners and connections for coroutines. Part of vigil.hpp.
 *
 *     vigil::task<> serve(vigil::stream stream)
 *     {
 *         char line[256];
 *         while (const std::size_t length = co_await stream.read_until(line, '\n')) {
 *             stream.write({line, length});
 *             co_await stream.drained();
 *         }
 *     }
 *
 * A wait on a stream allocates nothing: it lies in the coroutine's frame. Everything else of the C
 * headers that gives a promise is awaited through `promised`:
 *
 *     co_await vigil::promised(vigil_promise_exit, process, token);
 *     co_await vigil::promised(vigil_promise_load_file, &on, "/etc/hostname", 4096);
 *
 * Errors are thrown as vigil::error. A peer that resets its connection is no exception to a server:
 * with std::nothrow as the last argument reads and writes give the negative errno instead, at the
 * cost of a comparison.
 *
 *     while ((length = co_await stream.read_until(line, '\n', std::nothrow)) > 0)
 *         if (stream.write({line, std::size_t(length)}, std::nothrow) < 0)
 *             break;
 *
 * Owner's thread. A stream must not be closed while another coroutine waits for it.
 */
#ifndef VIGIL_IO_HPP
#define VIGIL_IO_HPP

#include <vigil/await.hpp>
#include <vigil/io.h>
#include <vigil/promise.hpp>

#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace vigil
{

/* The promise of a C call whose last parameter is where it goes. */
template <class... Params, class... Args> promise promised(int (*call)(Params...), Args... args)
{
    vigil_promise *made = nullptr;
    check(call(args..., &made), "starting something to wait for");
    return promise::adopt(made);
}

class address : public vigil_address
{
  public:
    explicit address(const char *text) : vigil_address()
    {
        check(vigil_address_init(this, text), "reading an address");
    }
};

namespace detail
{
/* One read: what, is `start`'s business. The stream calls come() once, also at the end of the
   loop. */
class [[nodiscard]] stream_wait : private vigil_read
{
  public:
    enum kind : unsigned char {
        SOME,
        EXACTLY,
        UNTIL,
        READABLE
    };
    stream_wait(vigil_stream *stream, kind what, void *buffer, std::size_t room,
                unsigned char delimiter = 0) noexcept
        : vigil_read(), stream_(stream), buffer_(buffer), room_(room), what_(what),
          delimiter_(delimiter)
    {
    }
    bool await_ready() const noexcept
    {
        return false;
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        this->done = come;
        int rc = 0;
        switch (what_) {
        case SOME:
            rc = vigil_stream_read(stream_, this, buffer_, room_);
            break;
        case EXACTLY:
            rc = vigil_stream_read_exactly(stream_, this, buffer_, room_);
            break;
        case UNTIL:
            rc = vigil_stream_read_until(stream_, this, buffer_, room_, delimiter_);
            break;
        case READABLE:
            rc = vigil_stream_readable(stream_, this);
            break;
        }
        result_ = rc;
        return rc == 0;
    }
    std::size_t await_resume() const
    {
        if (result_ < 0)
            throw error(static_cast<int>(result_), "reading from a stream");
        return static_cast<std::size_t>(result_);
    }

  protected:
    int64_t result_ = 0;

  private:
    static void come(vigil_read *read, int64_t result)
    {
        stream_wait *self = static_cast<stream_wait *>(read);
        self->result_ = result;
        resume_on_loop(self->it_);
    }
    vigil_stream *stream_;
    void *buffer_;
    std::size_t room_;
    kind what_;
    unsigned char delimiter_;
    std::coroutine_handle<> it_;
};

/* The same, and a failure is a result. */
class [[nodiscard]] stream_wait_nothrow : public stream_wait
{
  public:
    using stream_wait::stream_wait;
    int64_t await_resume() const noexcept
    {
        return result_;
    }
};

class [[nodiscard]] drained_wait
{
  public:
    drained_wait(vigil_stream *stream, bool needed) noexcept : stream_(stream), needed_(needed)
    {
    }
    bool await_ready() const noexcept
    {
        return !needed_;
    }
    VIGIL_NOINLINE bool await_suspend(std::coroutine_handle<> it) noexcept
    {
        it_ = it;
        status_ = vigil_stream_on_drained(stream_, come, this);
        return status_ == 0;
    }
    void await_resume() const
    {
        check(status_, "waiting for room in a stream");
    }

  private:
    static void come(void *arg)
    {
        resume_on_loop(static_cast<drained_wait *>(arg)->it_);
    }
    vigil_stream *stream_;
    std::coroutine_handle<> it_;
    int status_ = 0;
    bool needed_;
};
} // namespace detail

/* Owns a stream: closed with it. Give the C stream back with release(). */
class stream
{
  public:
    stream() noexcept = default;
    explicit stream(vigil_stream *it) noexcept : it_(it)
    {
    }
    stream(loop_ref loop, int fd, const vigil_stream_options *options = nullptr)
    {
        check(vigil_stream_open(&it_, loop.get(), fd, options), "opening a stream");
    }
    stream(stream &&other) noexcept
        : it_(std::exchange(other.it_, nullptr)), full_(std::exchange(other.full_, false))
    {
    }
    stream &operator=(stream &&other) noexcept
    {
        std::swap(it_, other.it_);
        std::swap(full_, other.full_);
        return *this;
    }
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;
    ~stream()
    {
        (void)vigil_stream_close(it_);
    }
    vigil_stream *get() const noexcept
    {
        return it_;
    }
    vigil_stream *release() noexcept
    {
        return std::exchange(it_, nullptr);
    }
    explicit operator bool() const noexcept
    {
        return it_ != nullptr;
    }

    /* Bytes; 0: the peer has ended its side. */
    detail::stream_wait read(std::span<char> buffer) noexcept
    {
        return {it_, detail::stream_wait::SOME, buffer.data(), buffer.size()};
    }
    detail::stream_wait read_exactly(std::span<char> buffer) noexcept
    {
        return {it_, detail::stream_wait::EXACTLY, buffer.data(), buffer.size()};
    }
    /* With the delimiter; throws -EMSGSIZE when it does not come within the buffer. */
    detail::stream_wait read_until(std::span<char> buffer, char delimiter) noexcept
    {
        return {it_, detail::stream_wait::UNTIL, buffer.data(), buffer.size(),
                static_cast<unsigned char>(delimiter)};
    }
    /* The same three without an exception: a negative errno is a result as well. */
    detail::stream_wait_nothrow read(std::span<char> buffer, std::nothrow_t) noexcept
    {
        return {it_, detail::stream_wait::SOME, buffer.data(), buffer.size()};
    }
    detail::stream_wait_nothrow read_exactly(std::span<char> buffer, std::nothrow_t) noexcept
    {
        return {it_, detail::stream_wait::EXACTLY, buffer.data(), buffer.size()};
    }
    detail::stream_wait_nothrow read_until(std::span<char> buffer, char delimiter,
                                           std::nothrow_t) noexcept
    {
        return {it_, detail::stream_wait::UNTIL, buffer.data(), buffer.size(),
                static_cast<unsigned char>(delimiter)};
    }
    /* Something is there, for try_read: an idle coroutine holds no buffer. */
    detail::stream_wait readable() noexcept
    {
        return {it_, detail::stream_wait::READABLE, nullptr, 0};
    }
    /* Bytes, 0 at the end, or -EAGAIN; throws what else goes wrong. */
    int64_t try_read(std::span<char> buffer)
    {
        const int64_t got = vigil_stream_try_read(it_, buffer.data(), buffer.size());
        if (got < 0 && got != -EAGAIN)
            throw error(static_cast<int>(got), "reading from a stream");
        return got;
    }
    /* Bytes, 0 at the end, -EAGAIN, or what else went wrong. */
    int64_t try_read(std::span<char> buffer, std::nothrow_t) noexcept
    {
        return vigil_stream_try_read(it_, buffer.data(), buffer.size());
    }
    /* Sent behind the callback that runs, with what else it writes. */
    void write(std::string_view data)
    {
        full_ =
            check(vigil_stream_write(it_, data.data(), data.size()), "writing to a stream") != 0;
    }
    /* The same without an exception: 0; 1 more than high_water is unsent; or a negative errno. */
    int write(std::string_view data, std::nothrow_t) noexcept
    {
        const int rc = vigil_stream_write(it_, data.data(), data.size());
        full_ = rc > 0;
        return rc;
    }
    /* Until there is room again; at once if there is. */
    detail::drained_wait drained() noexcept
    {
        return {it_, std::exchange(full_, false)};
    }
    void finish()
    {
        check(vigil_stream_finish(it_), "ending the sending side of a stream");
    }

  private:
    vigil_stream *it_ = nullptr;
    bool full_ = false;
};

/* The first of the addresses that answers. */
class [[nodiscard]] connect : public detail::settles_to_be_taken
{
  public:
    connect(loop_ref loop, std::span<const address> to,
            const vigil_connect_options *options = nullptr, token_ref token = {})
        : settles_to_be_taken(promised(vigil_promise_connect, loop.get(), to.data(), to.size(),
                                       options, token.get()))
    {
    }
    connect(loop_ref loop, const address &to, const vigil_connect_options *options = nullptr,
            token_ref token = {})
        : connect(loop, std::span(&to, 1), options, token)
    {
    }
    stream await_resume() const
    {
        vigil_value taken = settles_to_be_taken::await_resume().release();
        return stream(static_cast<vigil_stream *>(taken.pointer));
    }
};

/* Calls serve(stream) for each connection; what it returns, a task, is started and runs by itself.
   Closed with the object; the connections go on. */
template <class Serve> class listener
{
  public:
    listener(loop_ref loop, const address &at, Serve serve,
             vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT)
        : serve_(std::move(serve))
    {
        options.on_stream = came;
        options.user = this;
        check(vigil_listener_open(&it_, loop.get(), &at, &options), "listening");
    }
    listener(const listener &) = delete;
    listener &operator=(const listener &) = delete;
    ~listener()
    {
        (void)vigil_listener_close(it_);
    }
    vigil_listener *get() const noexcept
    {
        return it_;
    }
    /* With the port that the system has chosen. */
    address where() const
    {
        address found("127.0.0.1:0");
        check(vigil_listener_address(it_, &found), "asking for the address of a listener");
        return found;
    }

  private:
    static void came(vigil_listener *, vigil_stream *accepted, void *user)
    {
        detach(static_cast<listener *>(user)->serve_(stream(accepted)));
    }
    Serve serve_;
    vigil_listener *it_ = nullptr;
};

} // namespace vigil
#endif
