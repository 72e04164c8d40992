/* SPDX-License-Identifier: MIT */
/* What lib/vm.js sees. */
#ifndef VG_JS_BIND_VM_H
#define VG_JS_BIND_VM_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_vm(vigil_js *js);
void vg_js_vm_end(vigil_js *js);

#endif
