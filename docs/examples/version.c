/* SPDX-License-Identifier: MIT */
/* Examples of vigil/version.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/version.h>

/* vigil_version: get the version of the library as a number */
static void version_as_a_number(void)
{
    /* Compiled with one version, running with another? */
    if (vigil_version() < VIGIL_VERSION_NUMBER)
        printf("the library is older than its header\n");
}

/* vigil_version_string: get the version of the library as text */
static void version_as_text(void)
{
    printf("vigil %s\n", vigil_version_string());
}

/* ---- all of them ---- */

int main(void)
{
    version_as_a_number();
    version_as_text();
    return 0;
}
