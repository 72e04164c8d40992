/* SPDX-License-Identifier: MIT */
/*
 * Some verbs are programs of their own, because they need libraries that no other verb needs: the JavaScript engine has
 * thirty megabytes, and the page's server brings TLS along. They lie beside this program or in libexec; here they are
 * only found and started.
 */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

/* Become the program `name` with these words; returns an exit status, after a line on stderr, only if that fails.
   `missing` is what that line says when there is no such program. */
int program_become(const char *verb, const char *name, const char *missing, int count, char **words);

/* What `run` and `repl` say. */
#define NO_JS "this build has no JavaScript host; run scripts/setup js and build again"

#endif
