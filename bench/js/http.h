/* SPDX-License-Identifier: MIT */
#ifndef BENCH_JS_HTTP_H
#define BENCH_JS_HTTP_H

#include "../peer/peer.h"

/* One repetition of js-http; prints its numbers. */
void bench_http(const struct bench_args *args);

#endif
