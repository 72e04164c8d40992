/* SPDX-License-Identifier: MIT */
/*
 * reader_io.h - streams and their like, of a snapshot.
 */
#ifndef VG_READER_READER_IO_H
#define VG_READER_READER_IO_H

#include "view.h"

typedef struct vg_raw vg_raw;

/* Give the loop that owns the block at `at` what is in it. 0, also if there is no such loop; -ENOMEM. */
int vg_raw_ios(const vg_raw *raw, size_t at);

/* "127.0.0.1:80" of an IPv4 address in host order and a port. */
void vg_io_ipv4_text(char *text, size_t room, uint32_t address, unsigned port);

#endif
