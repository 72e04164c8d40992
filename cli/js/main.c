/* SPDX-License-Identifier: MIT */
/* The verb as a program of its own: what the tests of the host run. */
#include "run.h"

int main(int argc, char **argv)
{
    return vg_cli_run(argc, argv);
}
