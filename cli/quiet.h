/* SPDX-License-Identifier: MIT */
/* quiet.h - a viewer that uses a loop of its own keeps no record: it is not what one wants to find in `vigil ps`. */
#ifndef CLI_QUIET_H
#define CLI_QUIET_H

#include <vigil/record.h>

static inline void be_no_subject(void)
{
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.level = VIGIL_RECORD_OFF;
    vigil_record_configure(&options);
}

#endif
