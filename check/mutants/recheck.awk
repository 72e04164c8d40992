# SPDX-License-Identifier: MIT
# Finds, or replaces, the nth line of a C file whose code (without comments and indentation) equals `from`.
#
#   MUTANT_FROM=TEXT MUTANT_NTH=N awk -f recheck.awk file.c                  prints its number, nothing if there is none
#   MUTANT_FROM=TEXT MUTANT_NTH=N MUTANT_TO=TEXT awk -f recheck.awk file.c   prints the file with that text in its place

function blank(text,    out, i, two) {
    out = ""
    for (i = 1; i <= length(text); i++) {
        two = substr(text, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (two == "/*") {
            in_comment = 1; i++
        } else out = out substr(text, i, 1)
    }
    return out
}

# By the environment: awk would read backslashes in -v.
BEGIN { from = ENVIRON["MUTANT_FROM"]; to = ENVIRON["MUTANT_TO"]; nth = ENVIRON["MUTANT_NTH"] }

{
    code = blank($0)
    sub(/^[ \t]+/, "", code); sub(/[ \t]+$/, "", code)
    if (code == from && ++seen == nth) {
        if (to == "") { print NR; exit }
        print to
    } else if (to != "") print
}
