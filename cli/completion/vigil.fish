# SPDX-License-Identifier: MIT
# fish completion for vigil: asks the command itself. `run` hands its words on, so it is asked for its own options.
function __vigil_verbs
    vigil --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\([a-z].*\)/\1\t\2/p' | grep -v '^vigil'
end
function __vigil_options
    set -l words (commandline -opc)
    if test "$words[2]" = run
        vigil run --help 2>/dev/null
    else
        vigil help $words[2] 2>/dev/null
    end | sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\)\( [A-Z]*\)\{0,1\} *\(.*\)/\2\t\4/p'
    printf '%s\t%s\n' --help 'what this verb does'
end
function __vigil_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end
function __vigil_after_inject
    set -l words (commandline -opc)
    __vigil_verb demo; and contains -- $words[-1] --inject -i
end
complete -c vigil -n 'test (count (commandline -opc)) -eq 1' -f -a '(__vigil_verbs)'
complete -c vigil -n 'test (count (commandline -opc)) -eq 1' -f -a 'help\t"explain a verb" --help\t"what there is" --version\t"which version this is"'
complete -c vigil -n '__vigil_verb help' -f -a '(__vigil_verbs)'
complete -c vigil -n '__vigil_verb explain' -f -a '(vigil explain 2>/dev/null | sed -n "s/^  \([a-z-]*\)  *\(.*\)/\1\t\2/p")'
complete -c vigil -n __vigil_after_inject -f -a '(vigil demo --inject list 2>&1 | sed -n "s/^  \([a-z-]*\)  *\(.*\)/\1\t\2/p")'
complete -c vigil -n 'test (count (commandline -opc)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__vigil_options)'
complete -c vigil -n '__vigil_verb top report trace metrics serve' -a '(vigil ps 2>/dev/null | awk \'$1 ~ /^[0-9]+$/ { print $1 "\t" $4 }\')'
