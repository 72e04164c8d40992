# SPDX-License-Identifier: MIT
# fish completion for vigil: asks the command itself.
function __vigil_verbs
    vigil --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\([a-z].*\)/\1\t\2/p' | grep -v '^vigil'
    printf 'help\texplain a verb\n'
end
function __vigil_options
    set -l words (commandline -opc)
    vigil help $words[2] 2>/dev/null | sed -n 's/^  \(-.,\)\{0,1\} *\(--[a-z-]*\)[ A-Z]*\(.*\)/\2\t\3/p'
end
complete -c vigil -n 'test (count (commandline -opc)) -eq 1' -f -a '(__vigil_verbs)'
complete -c vigil -n 'test (count (commandline -opc)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__vigil_options)'
complete -c vigil -n 'test (count (commandline -opc)) -gt 1' -a '(vigil ps 2>/dev/null | awk \'$1 ~ /^[0-9]+$/ { print $1 "\t" $4 }\')'
