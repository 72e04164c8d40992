/* SPDX-License-Identifier: MIT */
/* quiet.h - a viewer that uses a loop of its own keeps no record: it is not what one wants to find in `vigil ps`. */
#ifndef CLI_QUIET_H
#define CLI_QUIET_H

#include <vigil/watch.h>

static inline void be_no_subject(void)
{
    vigil_watch_options options = VIGIL_WATCH_OPTIONS_INIT;
    options.level = VIGIL_WATCH_OFF;
    vigil_watch_configure(&options);
}

#endif
