/* SPDX-License-Identifier: MIT */
/*
 * vigil/version.h - which version this is, and what a version promises.
 *
 * Semantic versioning. Until 1.0 a new minor version may change or remove what is called
 * *evolving*; a patch version never does. From 1.0 on only a new major version may. Stability of
 * the headers, today:
 *
 *   stable     base.h, version.h, pool.h and loop.h: programs written against them go on compiling
 *              and running.
 *   evolving   every other header: may change with a minor version, with a line in CHANGELOG.md.
 *
 * Names that begin with vg_ (fields of public structs included) belong to the library in every
 * version. Structs that begin with `size` may grow at their end: a program compiled with an older
 * header goes on working with a newer library. What is going to be removed first carries the
 * deprecated attribute for at least one minor version, named with its replacement in CHANGELOG.md,
 * and keeps working during that time. The exported symbols are compared with abi/ on every change.
 */
#ifndef VIGIL_VERSION_H
#define VIGIL_VERSION_H

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of the header that a program was compiled with. The build reads these three lines;
 * there is no other place where the version is written down.
 */
#define VIGIL_VERSION_MAJOR 0
#define VIGIL_VERSION_MINOR 2
#define VIGIL_VERSION_PATCH 0

#define VIGIL_VERSION_NUMBER \
    (VIGIL_VERSION_MAJOR * 10000 + VIGIL_VERSION_MINOR * 100 + VIGIL_VERSION_PATCH)

/* The version of the library that a program runs with, as VIGIL_VERSION_NUMBER. Any thread; does
   not block. Returns the number. */
VIGIL_API int vigil_version(void);

/* The same as text ("0.2.0"). Any thread; does not block. Returns a constant text of the
   library. */
VIGIL_API const char *vigil_version_string(void);

#ifdef __cplusplus
}
#endif
#endif
