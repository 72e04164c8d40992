/* SPDX-License-Identifier: MIT */
/*
 * stream_file.h - parts of files among the writes of a stream.
 */
#ifndef VG_IO_STREAM_FILE_H
#define VG_IO_STREAM_FILE_H

#include "stream.h"

#define VG_STREAM_FILE_TURN ((size_t)1024 * 1024) /* bytes of files in one turn of a stream */

/* Send some of the first write, whose bytes are in a file. Bytes; -1 and errno: ENODATA it has ended. */
ssize_t vg_stream_send_from_file(vigil_stream *stream);

#endif
