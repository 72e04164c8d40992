/* SPDX-License-Identifier: MIT */
/* Finding a file of the library. */
#include "library.h"

#include <string.h>

const vg_embedded *vg_js_library_find(const char *name)
{
    for (size_t i = 0; i < vg_js_library_count; i++)
        if (strcmp(vg_js_library[i].name, name) == 0)
            return &vg_js_library[i];
    return NULL;
}
