/* SPDX-License-Identifier: MIT */
/* UTF-16 units as bytes, sixteen at a time. */
#ifndef VG_JS_NARROW_H
#define VG_JS_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VG_NARROW 16U

typedef uint16_t vg_sixteen_units __attribute__((vector_size(2 * VG_NARROW)));
typedef unsigned char vg_sixteen_bytes __attribute__((vector_size(VG_NARROW)));

/* The lower bytes of sixteen units. */
static inline void vg_narrow(unsigned char *to, const uint16_t *units)
{
    vg_sixteen_units wide;
    memcpy(&wide, units, sizeof wide);
    vg_sixteen_bytes narrow = __builtin_convertvector(wide, vg_sixteen_bytes);
    memcpy(to, &narrow, sizeof narrow);
}

/* Sixteen bytes as units. */
static inline void vg_widen(unsigned char *to, const unsigned char *bytes)
{
    vg_sixteen_bytes narrow;
    memcpy(&narrow, bytes, sizeof narrow);
    vg_sixteen_units wide = __builtin_convertvector(narrow, vg_sixteen_units);
    memcpy(to, &wide, sizeof wide);
}

/* Whether all sixteen are ASCII. */
static inline bool vg_narrow_ascii(const uint16_t *units)
{
    uint64_t parts[4];
    memcpy(parts, units, sizeof parts);
    return ((parts[0] | parts[1] | parts[2] | parts[3]) & UINT64_C(0xff80ff80ff80ff80)) == 0;
}

#endif
