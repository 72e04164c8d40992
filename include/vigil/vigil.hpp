/* SPDX-License-Identifier: MIT */
/*
 * vigil/vigil.hpp - Vigil for C++20: a header over the C library, nothing to link besides it. Each
 * part also stands alone.
 *
 *   error.hpp   vigil::error, and where exceptions end
 *   pool.hpp    pool, job; fork.hpp: group, forked, join, parallel_invoke
 *   flow.hpp    then, after_all, wait_any, isolate, yield_task, broadcast, run_on
 *   parallel.hpp  loops, reductions, scans, searches over ranges; sort.hpp: sorts; graph.hpp: graph
 *   loop.hpp    loop, timer, watch, signal, child
 *   promise.hpp promise, cancel_source, cancel_token, async; co_await on promises
 *   sync.hpp    mutex, semaphore, channel
 *   task.hpp    task<T>, sync_wait, detach; await.hpp: co_await on pools and loops, when_all,
 *               in_scope
 *   io.hpp      stream, listener, connect, address; promised: any promise of the C headers
 */
#ifndef VIGIL_VIGIL_HPP
#define VIGIL_VIGIL_HPP

#include <vigil/error.hpp>
#include <vigil/io.hpp>
#include <vigil/loop.hpp>
#include <vigil/pool.hpp>
#include <vigil/promise.hpp>
#include <vigil/sync.hpp>
#include <vigil/task.hpp>
#include <vigil/version.h>

#endif
