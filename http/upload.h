/* SPDX-License-Identifier: MIT */
/* upload.h - the body of a call that comes piece by piece. */
#ifndef VG_WEB_UPLOAD_H
#define VG_WEB_UPLOAD_H

#include "client.h"

/* The head was sent on the call's link: ask for the pieces, in a while. 0; -ENOMEM. */
int vg_web_upload_begin(vg_web_call *call);
/* The call leaves its link, or is over: nothing more is asked for or sent. */
void vg_web_upload_drop(vg_web_call *call);

#endif
