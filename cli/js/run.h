/* SPDX-License-Identifier: MIT */
/* The verb `vigil run`. */
#ifndef VG_CLI_RUN_H
#define VG_CLI_RUN_H

/* argv[0] is the verb. Returns the process's exit status. */
int vg_cli_run(int argc, char **argv);

#endif
