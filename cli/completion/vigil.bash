# SPDX-License-Identifier: MIT
# bash completion for vigil: verbs, options from the command's own help, pids from `vigil ps`, faults from the demo.
_vigil() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(vigil --help 2> /dev/null | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v vigil) help" -- "$word")
    elif [[ $verb == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(vigil --help 2> /dev/null | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v vigil)" -- "$word")
    elif [[ $before == --inject || $before == -i && $verb == demo ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(vigil demo --inject list 2>&1 | sed -n 's/^  \([a-z-]*\) .*/\1/p')" -- "$word")
    elif [[ $before == --output || $before == -o ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(vigil help "$verb" 2> /dev/null | sed -n 's/^  \(-.,\)\{0,1\} *\(--[a-z-]*\).*/\2/p') --help" -- "$word")
    else
        mapfile -t COMPREPLY < <(
            compgen -W "$(vigil ps 2> /dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')" -- "$word"
            compgen -f -- "$word"
        )
    fi
}
complete -o filenames -F _vigil vigil
