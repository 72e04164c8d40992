# SPDX-License-Identifier: MIT
# Reads the table of a check program; prints the first scenario that found something, what, and after how many executions.
# A search that was cut short, or that hit what the checker does not model, has found nothing. One in which executions ran into the step
# bound has, if it was to the end otherwise: somebody goes round and round.
/<-- NOT AS EXPECTED/ {
    verdict = ""
    for (i = 9; i <= NF && $i != "<--"; i++) verdict = verdict (verdict == "" ? "" : " ") $i
    if (verdict ~ /^truncated/ && $2 == "dpor" || verdict ~ /^(assertion|deadlock|data race|use after free|double free|leak|endless loop|crash)/) {
        printf "%s\t%s\t%s\n", $1, verdict, $4 + 1
        exit
    }
}
