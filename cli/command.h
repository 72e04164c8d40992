/* SPDX-License-Identifier: MIT */
/*
 * command.h - what a verb of the `vigil` command is, how its words are read, and how it ends.
 *
 * A verb is one `struct command` in a file of its own; main.c has the list. The options of a verb are a table, from
 * which both the reading and the help are made, so that they cannot differ.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* How the command ends. Scripts may rely on these. */
enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,  /* it could not be done; a line on stderr says why */
    EXIT_USAGE = 2,   /* the words were not understood */
    EXIT_STALLED = 3, /* report, doctor: it was done, and the process that was looked at has a stall */
};

enum option_kind {
    OPTION_FLAG,   /* target: bool */
    OPTION_TEXT,   /* target: const char * */
    OPTION_NUMBER, /* target: long, between least and most */
};

struct option_spec {
    char letter;      /* 0: none */
    const char *name; /* NULL ends the table */
    enum option_kind kind;
    const char *value; /* what the help calls the value: "FILE" */
    void *target;
    long least, most;
    const char *help;
};

enum {
    MOST_OPERANDS = 8
};

struct command {
    const char *name;
    const char *operands;              /* as the usage line shows them: "[PID|FILE]" */
    const char *summary;               /* one line */
    const char *text;                  /* what it does and how to read what it shows */
    const char *examples;              /* lines "  vigil ...   why" */
    const char *left_out;              /* NULL, or why this build lacks it */
    int most_operands;                 /* at most MOST_OPERANDS */
    const struct option_spec *options; /* may be NULL */
    int (*run)(int count, char **operands);
    const char *program; /* instead of run: become it, once the words have been read; it reads them again */
    int (*raw)(int count,
               char **words); /* instead of run: the words as they are, because most belong to another program */
};

extern const struct command command_ps, command_top, command_report, command_trace, command_metrics, command_serve,
    command_doctor, command_explain, command_demo, command_run_js, command_repl, command_jobs;

/* Every verb, in the order of the help; NULL ends it. */
extern const struct command *const commands[];

/* The verb by that name, or NULL. */
const struct command *command_find(const char *name);

/* Read the words of a verb and run it; gives the exit status. */
int command_run(const struct command *command, int count, char **words);

/* The help of one verb, on stdout. */
void command_help(const struct command *command);

/* The name in `names` (NULL ends it) that is nearest to `word`, or NULL if none is near: "did you mean". */
const char *nearest_name(const char *word, const char *const *names);

#endif
