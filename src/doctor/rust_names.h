/* SPDX-License-Identifier: MIT */
/* rust_names.h - names as new versions of Rust write them ("_R..."). */
#ifndef VG_DOCTOR_RUST_NAMES_H
#define VG_DOCTOR_RUST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The identifiers of the name, with "::" between them; generic arguments and types are not told apart from the path.
   False: it is no such name. */
bool vg_rust_name(const char *name, char *to, size_t room);

#endif
