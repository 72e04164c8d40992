/* SPDX-License-Identifier: MIT */
#include "raise.h"

#include <errno.h>
#include <stdlib.h>

#include <vigil/base.h>

_Thread_local vg_raise_frame *vg_raise_top;

#ifndef VG_RAISE_LIBC
bool vg_raise_landed(const vg_raise_frame *frame)
{
    return frame->where[1] == NULL;
}
#endif

void vigil_raise(int status)
{
    vg_raise_frame *frame = vg_raise_top;
    while (frame != NULL && frame->clean != NULL) {
        vg_raise_top = frame->outer; /* first: it may raise too, into a frame of its own */
        frame->clean(frame);
        frame = vg_raise_top;
    }
    if (frame == NULL)
        abort(); /* outside a task or callback there is nowhere to go */
    frame->status = status < 0 ? status : -EIO;
    vg_raise_jump(frame);
}
