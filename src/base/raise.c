/* SPDX-License-Identifier: MIT */
#include "raise.h"

#include <errno.h>
#include <stdlib.h>

#include <vigil/base.h>

_Thread_local vg_raise_frame *vg_raise_top;
vg_raise_links vg_raise_no_links;
_Thread_local vg_raise_links *vg_raise_links_here = &vg_raise_no_links;

#ifndef VG_RAISE_LIBC
bool vg_raise_landed(const vg_raise_frame *frame)
{
    return frame->where[1] == NULL;
}
#endif

/* A clean-up may raise too, into a frame of its own: what it cleans up is off the chain before. */
static void clean_links(const void *older)
{
    vg_raise_links *links = vg_raise_links_here;
    /* NULL before `older`: the child of a task has left the pool with the frame still there */
    for (void *link; (link = links->newest) != older && link != NULL;) {
        links->newest = *(void **)link;
        links->clean(link);
    }
}

void vigil_raise(int status)
{
    vg_raise_frame *frame;
    for (;;) {
        frame = vg_raise_top;
        if (frame == NULL)
            abort(); /* outside a task or callback there is nowhere to go */
        clean_links(frame->links);
        if (frame->clean == NULL)
            break;
        vg_raise_top = frame->outer;
        frame->clean(frame);
    }
    frame->status = status < 0 ? status : -EIO;
    vg_raise_jump(frame);
}
