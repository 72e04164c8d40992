/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_WRITE_H
#define VG_IO_STREAM_WRITE_H

#include "stream.h"

/* Give the system what it takes. Calls nobody: what is done is in the list of the sent. */
void vg_stream_flush(vigil_stream *stream);
/* The peer was promised an end and has not got it. */
bool vg_stream_must_finish(const vigil_stream *stream);
/* Nothing more will be sent: move all writes to the sent ones, with this status. */
void vg_stream_drop_writes(vigil_stream *stream, int status);
/* Take the next write that is done off the list and free it if it is a copy. True: *write is the user's, to be told. */
bool vg_stream_next_sent(vigil_stream *stream, vigil_write **write);

#endif
