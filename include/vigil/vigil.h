/* SPDX-License-Identifier: MIT */
#ifndef VIGIL_VIGIL_H
#define VIGIL_VIGIL_H

/* Everything at once. Each header also stands alone. */

#include <vigil/async.h>
#include <vigil/cancel.h>
#include <vigil/channel.h>
#include <vigil/datagram.h>
#include <vigil/descriptor.h>
#include <vigil/base.h>
#include <vigil/flow.h>
#include <vigil/file.h>
#include <vigil/graph.h>
#include <vigil/io.h>
#include <vigil/io_filter.h>
#include <vigil/loop.h>
#include <vigil/parallel.h>
#include <vigil/pool.h>
#include <vigil/process.h>
#include <vigil/promise.h>
#include <vigil/version.h>
#include <vigil/record.h>
#include <vigil/sync.h>
#include <vigil/watchdog.h>

#endif
