/* SPDX-License-Identifier: MIT */
/* machine.h - the processes of this machine that the user of this command may examine, with Vigil inside or without. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <json.h>
#include <stdbool.h>
#include <sys/types.h>

/* Of this user, or of anybody for root. Not this process itself, nor a thread of the kernel. */
bool machine_may_examine(pid_t pid);

/* {"chosen": PID, "vigil": bool, "processes": [{"pid", "name", "command", "user", "threads", "vigil"}]}; chosen: the
   process that the page is for, 0: none; vigil: whether its record is shown too. NULL: no memory. */
json_object *machine_json(pid_t chosen, bool vigil);

#endif
