/* SPDX-License-Identifier: MIT */
/* What every binding uses: tables of functions, arguments, errors. */
#ifndef VG_JS_BIND_H
#define VG_JS_BIND_H

#include "host.h"

typedef struct vg_binding_entry {
    const char *name;
    vg_native native;
} vg_binding_entry;
bool vg_js_bind(vigil_js *js, vg_val object, const vg_binding_entry *entries, size_t count);

/* Argument i as a number (NaN), as text (to be freed; NULL), or undefined if there is none. */
vg_val vg_arg(vg_call *call, size_t i);
double vg_arg_number(vg_call *call, size_t i);
char *vg_arg_text(vg_call *call, size_t i, size_t *length);
bool vg_arg_is(vg_call *call, size_t i, vg_type type);
vg_val vg_throw(vg_call *call, const char *message);
/* A property of an object of our own, on which no setter can throw. */
void vg_set_number(vg_engine *engine, vg_val object, const char *name, double value);

#endif
