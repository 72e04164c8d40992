/* SPDX-License-Identifier: MIT */
/*
 * The verbs that run JavaScript are programs of their own, because the engine is a library of thirty megabytes that no other
 * verb needs. They lie beside this one or in libexec; here they are only found and started.
 */
#ifndef CLI_JS_PROGRAM_H
#define CLI_JS_PROGRAM_H

/* Become the program `name` with these words; returns an exit status, after a line on stderr, only if that fails. */
int js_program(const char *verb, const char *name, int count, char **words);

#endif
