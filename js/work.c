/* SPDX-License-Identifier: MIT */
/* What a piece of work may call while it runs, on whatever thread that is. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool vg_work_cancelled(vg_work *work)
{
    /* relaxed: a wish, carrying nothing with it. */
    return atomic_load_explicit(&work->cancelled, memory_order_relaxed) != 0;
}

void vg_work_give(vg_work *work, void *bytes, size_t length)
{
    free(work->out);
    work->out = bytes;
    work->pub.result = (vigil_js_datum){.kind = VIGIL_JS_DATUM_BYTES, .data = bytes, .length = length};
}

int vg_work_fail(vg_work *work, int error, const char *message)
{
    snprintf(work->pub.message, sizeof work->pub.message, "%s", message);
    return error;
}

bool vigil_js_work_cancelled(const vigil_js_work *work)
{
    return vg_work_cancelled((vg_work *)(uintptr_t)work);
}

int vigil_js_work_result_set(vigil_js_work *work, vigil_js_datum_kind kind, const void *data, size_t length)
{
    unsigned char *copy;
    if (!work || (kind != VIGIL_JS_DATUM_TEXT && kind != VIGIL_JS_DATUM_BYTES) || (length && !data))
        return vigil_why_set(-EINVAL, "work or data is NULL, or kind is neither TEXT nor BYTES");
    copy = malloc(length ? length : 1);
    if (!copy)
        return vigil_why_set(-ENOMEM, "there is no memory for the result");
    if (length)
        memcpy(copy, data, length);
    vg_work_give((vg_work *)(void *)work, copy, length);
    work->result.kind = kind;
    return 0;
}
