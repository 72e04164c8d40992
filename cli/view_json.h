/* SPDX-License-Identifier: MIT */
/* view_json.h - a look as JSON: for `report --json` and for the page. docs/command.md lists the fields. */
#ifndef CLI_VIEW_JSON_H
#define CLI_VIEW_JSON_H

#include <json.h>

#include "look.h"

/* live: with shares and rates since the last look, without the long histories. NULL: no memory. */
json_object *view_json(struct look *look, bool live);

#endif
