/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_PASS_H
#define VG_IO_STREAM_PASS_H

#include "stream_write.h"

/* The stream takes descriptors. 0; -ENOMEM. */
int vg_pass_begin(vigil_stream *stream);
void vg_pass_free(vigil_stream *stream);
/* recv and sendmsg, with descriptors. */
ssize_t vg_pass_receive(vigil_stream *stream, void *buffer, size_t room);
ssize_t vg_pass_send(vigil_stream *stream, struct msghdr *message);
/* The copies of a write that are not sent are closed. */
void vg_pass_drop(vg_stream_copy *copy);

#endif
