/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_LISTENER_H
#define VG_IO_LISTENER_H

#include "stream.h"

/* A stream of a listener has closed its descriptor. */
void vg_listener_forget(vigil_stream *stream);

#endif
