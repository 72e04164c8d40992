/* SPDX-License-Identifier: MIT */
/*
 * options.h - structs that grow. Each begins with its size as the caller's compiler knew it. A shorter one gets zeros,
 * which mean the default. A longer one is accepted if what we do not know is zero.
 */
#ifndef VG_BASE_OPTIONS_H
#define VG_BASE_OPTIONS_H

#include "why.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Copy the caller's struct into ours. least: the size that every caller has. 0; -EINVAL: too short, or an unknown
   field is set. */
static inline int vg_options_take(void *ours, size_t our_size, const void *given, size_t given_size, size_t least,
                                  const char *name)
{
    if (given_size < least)
        return vg_why_say(-EINVAL, "%s->size is %zu; start from its _INIT macro", name, given_size);
    for (size_t i = our_size; i < given_size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return vg_why_say(-EINVAL, "%s sets a field that this version of the library does not know (byte %zu)",
                              name, i);
    memset(ours, 0, our_size);
    memcpy(ours, given, given_size < our_size ? given_size : our_size);
    return 0;
}

/* Copy our struct to the caller's, as far as it fits; its size field stays. 0; -EINVAL. */
static inline int vg_options_give(void *theirs, size_t their_size, const void *ours, size_t our_size, size_t least,
                                  const char *name)
{
    if (their_size < least)
        return vg_why_say(-EINVAL, "%s->size is %zu; start from its _INIT macro", name, their_size);
    size_t copied = their_size < our_size ? their_size : our_size;
    memcpy((char *)theirs + sizeof(size_t), (const char *)ours + sizeof(size_t), copied - sizeof(size_t));
    return 0;
}

#endif
