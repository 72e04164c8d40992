/* SPDX-License-Identifier: MIT */
/*
 * relay.h - a copy from stream to stream, as the streams see it.
 */
#ifndef VG_IO_RELAY_H
#define VG_IO_RELAY_H

#include "stream.h"

/* The stream is given back: the copies from it and to it are over. */
void vg_relay_stream_closes(vigil_stream *stream);
/* Nothing can be sent any more to where the copy goes. */
void vg_relay_target_fails(vg_relay *relay, int error);

#endif
