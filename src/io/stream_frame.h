/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_FRAME_H
#define VG_IO_STREAM_FRAME_H

#include "stream.h"

/* The stream is given back: the frame that reads from it gets -ECANCELED, not inside this call. */
void vg_stream_drop_frame(vigil_stream *stream);

#endif
