/* SPDX-License-Identifier: MIT */
/* vigil run --watch. */
#ifndef VG_CLI_JS_WATCH_H
#define VG_CLI_JS_WATCH_H

/* argv[1..rest) are the options, argv[rest] the program's file. Returns the exit status when a signal has ended it. */
int vg_cli_watch(int argc, char **argv, int rest);
/* In the process that is watched: it ends with the watcher, and descriptor 3 is its own. */
void vg_cli_watched(void);

#endif
