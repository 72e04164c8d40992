# SPDX-License-Identifier: MIT
# bash completion for vigil: verbs and options from the command's own help, pids from `vigil ps`, verdicts and faults from their lists.
_vigil_verbs() {
    vigil --help 2> /dev/null | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -vx vigil
}
# `run` hands its words on, so it is asked itself.
_vigil_options() {
    if [[ $1 == run ]]; then vigil run --help 2> /dev/null; else vigil help "$1" 2> /dev/null; fi |
        sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p'
    echo --help
}
_vigil() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local offer=""
    if ((COMP_CWORD == 1)); then
        offer="$(_vigil_verbs) help --help --version"
    elif [[ $verb == help ]]; then
        offer=$(_vigil_verbs)
    elif [[ $verb == demo && ($before == --inject || $before == -i) ]]; then
        offer=$(vigil demo --inject list 2>&1 | sed -n 's/^  \([a-z-]*\) .*/\1/p')
    elif [[ $word == -* ]]; then
        offer=$(_vigil_options "$verb")
    elif [[ $verb == explain ]]; then
        offer=$(vigil explain 2> /dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p')
    else
        if [[ $verb != run && $before != --output && $before != -o ]]; then
            offer=$(vigil ps 2> /dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')
        fi
        mapfile -t COMPREPLY < <(
            compgen -W "$offer" -- "$word"
            compgen -f -- "$word"
        )
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$word")
}
complete -o filenames -F _vigil vigil
