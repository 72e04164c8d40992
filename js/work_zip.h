/* SPDX-License-Identifier: MIT */
/* Compression. */
#ifndef VG_JS_WORK_ZIP_H
#define VG_JS_WORK_ZIP_H

#include "work.h"

/* NULL: not one of its kinds, or this build lacks the library. */
vg_work_fn vg_work_zip_kind(unsigned kind);

#endif
