/* SPDX-License-Identifier: MIT */
/* demo_sick.h - `vigil demo --sick`: a small program without Vigil that hangs, and what the doctor says of it. */
#ifndef CLI_DEMO_SICK_H
#define CLI_DEMO_SICK_H

#include <stdio.h>

/* An exit status: 0 if the doctor has named it. */
int demo_sick(const char *name);

/* The names and what they do. */
void demo_sick_list(FILE *to);

#endif
