/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_PROMISE_H
#define VG_IO_STREAM_PROMISE_H

#include "stream.h"

/* The stream is given back: the promises and frames that wait for it get -ECANCELED. */
void vg_stream_drop_promises(vigil_stream *stream);

#endif
