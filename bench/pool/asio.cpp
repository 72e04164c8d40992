/* SPDX-License-Identifier: MIT */
/* boost::asio::thread_pool and post. */
#include "harness.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

static boost::asio::thread_pool *pool;

static void start(unsigned workers, size_t)
{
    pool = new boost::asio::thread_pool(workers);
}

static void produce(size_t, size_t count, pool_fn fn)
{
    for (size_t i = 0; i < count; i++)
        boost::asio::post(*pool, fn);
}

static void stop()
{
    pool->join();
    delete pool;
}

const struct pool_peer pool_peer = {start, produce, stop, nullptr, nullptr, 0, nullptr};
