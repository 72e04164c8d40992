/* SPDX-License-Identifier: MIT */
/*
 * vigil - looks at any process that uses the library.
 *
 * Nothing here talks to the process that is looked at: every verb reads the file that its recorder writes, so it works
 * the same while that process is busy, stopped, wedged or dead.
 */
#include <stdio.h>
#include <string.h>

#include <vigil/version.h>

#include "command.h"
#include "say.h"

const struct command *const commands[] = {
    &command_ps,    &command_top,     &command_report, &command_doctor, &command_trace, &command_metrics,
    &command_serve, &command_explain, &command_demo,   &command_run_js, &command_repl,  &command_jobs,
    NULL,
};

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = commands; *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static void help(void)
{
    printf("%sUsage:%s vigil VERB [OPTION]... [PID|FILE]\n\n", style(BOLD), style(PLAIN));
    puts("Looks at programs that use the Vigil library: while they run, while they hang, and after they died.\n");
    for (const struct command *const *c = commands; *c != NULL; c++)
        printf("  %s%-8s%s %s%s\n", style(BOLD), (*c)->name, style(PLAIN), (*c)->summary,
               (*c)->left_out != NULL ? " (not in this build)" : "");
    puts("\nWhere to begin\n"
         "  vigil demo           a small game server to look at; nothing else is needed\n"
         "  vigil ps             which processes can be looked at\n"
         "  vigil report PID     what one of them does, and what is wrong with it, in words\n"
         "  vigil doctor PID     why any process hangs, with Vigil inside or without\n"
         "  vigil explain        what the verdicts of a report mean, and what to do about each\n"
         "\n`vigil help VERB` explains a verb. PID can be left out while there is only one such process.\n"
         "Exit status: 0 done, 1 could not be done, 2 wrong usage, 3 report or doctor found a stall.");
}

static int unknown_verb(const char *word)
{
    const char *names[32] = {"help"};
    size_t count = 1;
    for (const struct command *const *c = commands; *c != NULL && count < 31; c++)
        names[count++] = (*c)->name;
    const char *near = nearest_name(word, names);
    if (near != NULL)
        say_error("there is no verb '%s'; did you mean `vigil %s`?", word, near);
    else
        say_error("there is no verb '%s'; `vigil help` lists them", word);
    return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        if (argc > 2) {
            const struct command *command = command_find(argv[2]);
            if (command == NULL)
                return unknown_verb(argv[2]);
            command_help(command);
            return EXIT_FINE;
        }
        help();
        return argc < 2 ? EXIT_USAGE : EXIT_FINE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("vigil %s\n", vigil_version_string());
        return EXIT_FINE;
    }
    const struct command *command = command_find(argv[1]);
    if (command == NULL)
        return unknown_verb(argv[1]);
    return command_run(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    say_begin();
    int status = run(argc, argv);
    /* A full disk must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_FINE) {
        say_error("the output could not be written: %m");
        status = EXIT_FAILED;
    }
    return status;
}
