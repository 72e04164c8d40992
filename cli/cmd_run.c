/* SPDX-License-Identifier: MIT */
/* vigil run: JavaScript on Vigil's loop and pool. */
#include "command.h"
#include "program.h"

static int run(int count, char **words)
{
    return program_become("run", "vigil-js", NO_JS, count, words);
}

const struct command command_run_js = {
    .name = "run",
    .operands = "FILE [ARGUMENT]...",
    .summary = "run JavaScript on Vigil's loop and pool",
    .text = "Runs a program as Node 20 would: CommonJS and ES modules, timers, promises, files. Blocking work "
            "goes to the\n"
            "pool. `vigil run --help` lists the options.",
    .examples = "  vigil run server.js           a file\n"
                "  vigil run -e 'console.log(1)'  a text\n"
                "  vigil run -                    what comes from standard input",
    .raw = run,
};
