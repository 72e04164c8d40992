/* SPDX-License-Identifier: MIT */
/* The table repeats some numbers of the public headers, for JavaScript: they must agree. */
#include <assert.h>
#include <vigil/pool.h>
#include <vigil/watchdog.h>

#include "constants.h"

#define SAME(kind, name, value) static_assert(VIGIL_##kind == (value), "constants.txt: priority " #kind);
VG_EACH_priority(SAME)
#undef SAME
#define SAME(kind, name, value) static_assert(VIGIL_RECOVER_##kind == (value), "constants.txt: recover " #kind);
    VG_EACH_recover(SAME)
#undef SAME
#define SAME(kind, name, value) static_assert(VIGIL_SEVERITY_##kind == (value), "constants.txt: severity " #kind);
        VG_EACH_severity(SAME)
#undef SAME

            static_assert(VG_COUNT_priority == VIGIL_PRIORITIES, "constants.txt: priority");
