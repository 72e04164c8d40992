/* SPDX-License-Identifier: MIT */
#include "raise.h"

#include <errno.h>
#include <stdlib.h>

#include <vigil/error.h>

_Thread_local vg_raise_frame *vg_raise_top;

/* Marks a frame where a raise has landed (vg_raise_landed); never called, because such a frame lands no second time. */
static void arrived(vg_raise_frame *frame)
{
    (void)frame;
}

bool vg_raise_landed(const vg_raise_frame *frame)
{
    return frame->clean != NULL;
}

void vigil_raise(int status)
{
    vg_raise_frame *frame = vg_raise_top;
    while (frame != NULL && frame->clean != NULL) {
        vg_raise_top = frame->outer; /* first: what it runs may raise as well, into a frame of its own */
        frame->clean(frame);
        frame = vg_raise_top;
    }
    if (frame == NULL)
        abort(); /* outside a task or callback there is nowhere to go; the header says so */
    frame->status = status < 0 ? status : -EIO;
    frame->clean = arrived;
    vg_raise_jump(frame);
}
