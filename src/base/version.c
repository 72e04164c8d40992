/* SPDX-License-Identifier: MIT */
#include <vigil/version.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

int vigil_version(void)
{
    return VIGIL_VERSION_NUMBER;
}

const char *vigil_version_string(void)
{
    return TEXT(VIGIL_VERSION_MAJOR) "." TEXT(VIGIL_VERSION_MINOR) "." TEXT(VIGIL_VERSION_PATCH);
}
