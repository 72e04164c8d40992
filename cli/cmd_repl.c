/* SPDX-License-Identifier: MIT */
/* vigil repl: JavaScript, a line at a time. */
#include "command.h"
#include "program.h"

static int run(int count, char **words)
{
    return program_become("repl", "vigil-repl", NO_JS, count, words);
}

const struct command command_repl = {
    .name = "repl",
    .operands = "",
    .summary = "try JavaScript on Vigil's loop and pool, a line at a time",
    .text =
        "Reads JavaScript, evaluates it and prints what it is, as Node's REPL does: several lines, await, _ for the "
        "last\n"
        "value, _error for the last error, the built-in modules by their names. Tab completes, the arrows go through\n"
        "the history, Control-C ends what runs, Control-D or .exit ends the REPL; .help lists the commands. The "
        "history\n"
        "is kept in $XDG_STATE_HOME/vigil/repl_history, or where VIGIL_REPL_HISTORY says (empty: nowhere).\n"
        "Where there is no terminal, lines are read and their values printed, without prompts.",
    .examples = "  vigil repl                     at a terminal\n"
                "  echo '6 * 7' | vigil repl      prints 42",
    .run = run,
};
