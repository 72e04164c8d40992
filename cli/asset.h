/* SPDX-License-Identifier: MIT */
/* asset.h - files that are built into the command (embed.cmake). */
#ifndef CLI_ASSET_H
#define CLI_ASSET_H

#include <stddef.h>

struct asset {
    const char *path, *type;
    const unsigned char *bytes;
    size_t size;
};

/* path NULL ends each. */
extern const struct asset assets[]; /* of the page; only where there is `serve` */
extern const struct asset pages[];  /* docs/verdicts: "/verdicts/hog" */

#endif
