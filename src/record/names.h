/* SPDX-License-Identifier: MIT */
/*
 * names.h - functions and modules in the file. Under the recorder's lock.
 */
#ifndef VG_RECORD_NAMES_H
#define VG_RECORD_NAMES_H

#include "recorder.h"

void vg_names_publish(vg_recorder *recorder);
void vg_modules_publish(vg_recorder *recorder);

#endif
