/* SPDX-License-Identifier: MIT */
#include "raise.h"

#include <errno.h>
#include <stdlib.h>

#include <vigil/error.h>

_Thread_local vg_raise_frame *vg_raise_top;

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
#ifdef VG_RAISE_LIBC
    longjmp(frame->where, 1); /* by this name, which the thread sanitizer knows; no signal mask was saved */
#else
    __builtin_longjmp(frame->where, 1);
#endif
}
