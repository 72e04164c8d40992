/* SPDX-License-Identifier: MIT */
/* For check programs that bring no main of their own. */
#include <vigil_check.h>

int main(int argc, char **argv)
{
    return vgc_main(argc, argv);
}
