# SPDX-License-Identifier: MIT
# Finds the places in a C file where one memory order can be weakened or one fence dropped, and makes the change at one of them.
#
#   awk -f sites.awk file.c                              lists them:  kind TAB line TAB nth TAB the line, trimmed
#   awk -v do_line=L -v do_nth=N -v do_kind=K -f sites.awk file.c      prints the file with that one change
#
# Kinds: fence (the call becomes nothing), half (a seq_cst fence becomes an acq_rel one), relaxed (one order becomes
# memory_order_relaxed or __ATOMIC_RELAXED), and for acq_rel also no-acquire and no-release (the other half stays). Comments are not code: they are blanked before the search.

function blank(text,    out, i, two) {
    out = ""
    for (i = 1; i <= length(text); i++) {
        two = substr(text, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; out = out "  "; i++ } else out = out " "
        } else if (two == "/*") {
            in_comment = 1; out = out "  "; i++
        } else if (two == "//") {
            while (length(out) < length(text)) out = out " "
            return out
        } else out = out substr(text, i, 1)
    }
    return out
}

function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }

function site(kind, nth) {
    if (do_kind == "") printf "%s\t%d\t%d\t%s\n", kind, NR, nth, trimmed($0)
    return do_kind == kind && do_line == NR && do_nth == nth
}

# The line with the order that was found replaced; public headers write __ATOMIC_*.
function weaker(by) {
    by = order ~ /^__ATOMIC_/ ? "__ATOMIC_" toupper(by) : "memory_order_" by
    return substr($0, 1, first - 1) by substr($0, first + size)
}

{
    code = blank($0)
    result = $0
    # A fence that is called, not defined: the statement ends on its line.
    if (match(code, /(atomic_thread_fence|vg_fence_light|vg_fence_heavy|vg_fence_membarrier)\([^;{]*\);/) && code !~ /^[a-z]/) {
        if (site("fence", 1)) result = substr($0, 1, RSTART - 1) "(void)0;" substr($0, RSTART + RLENGTH)
        if (match(code, /atomic_thread_fence\(memory_order_seq_cst\)/) && site("half", 1))
            result = substr($0, 1, RSTART - 1) "atomic_thread_fence(memory_order_acq_rel)" substr($0, RSTART + RLENGTH)
    } else if (code ~ /(atomic_thread_fence|vg_fence_light|vg_fence_heavy|vg_fence_membarrier)\([^)]*$/ && code !~ /^[a-z]/) {
        print FILENAME ":" NR ": a fence over several lines is not found: put it on one" > "/dev/stderr"
        bad = 1
    } else if (code !~ /atomic_(thread|signal)_fence/) {
        rest = code; at = 0; nth = 0
        while (match(rest, /memory_order_(acquire|release|acq_rel|seq_cst)|__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)/)) {
            nth++
            first = at + RSTART; size = RLENGTH; order = substr(rest, RSTART, RLENGTH)
            at = at + RSTART + RLENGTH - 1
            rest = substr(rest, RSTART + RLENGTH)
            if (site("relaxed", nth)) result = weaker("relaxed")
            if (tolower(order) ~ /acq_rel$/) {
                if (site("no-acquire", nth)) result = weaker("release")
                if (site("no-release", nth)) result = weaker("acquire")
            }
        }
    }
    if (do_kind != "") print result
}

END { if (do_kind == "") exit bad }
