#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM: texts that are no files (-e, standard input), as scripts and as modules, and a reader that goes away.
set -u
program=$1
failed=0
check() { # name, expected, got
    [ "$2" = "$3" ] && return
    echo "$1: expected '$2', got '$3'"
    failed=1
}
check script "1 function" "$("$program" -e 'const x = 1; console.log(x, typeof require)')"
check 'module by import' "function undefined" "$("$program" -e 'import os from "os"; console.log(typeof os.cpus, typeof require)')"
check 'module by export' "2" "$("$program" -e 'export const x = 2; console.log(x)')"
check 'module by await' "3" "$("$program" -e 'console.log(await Promise.resolve(3))')"
check 'module by meta' "string" "$("$program" -e 'console.log(typeof import.meta.url)')"
check 'module on standard input' "4" "$(printf 'import "fs"\nconst a = await 4\nconsole.log(a)\n' | "$program" -)"
check 'script on standard input' "5" "$(echo 'await = 5; console.log(await)' | "$program" - 2> /dev/null)"
check 'import() in a script' "object" "$("$program" -e 'import("fs").then((fs) => console.log(typeof fs))')"
"$program" -e 'export const =' > /dev/null 2>&1
check 'status of neither' "1" "$?"
# As Node: a console whose reader has gone is silent, and the program goes on; a write tells.
check 'console without a reader' "went on" "$("$program" -e '
  setTimeout(() => { for (let i = 0; i < 1000; i++) console.log("x".repeat(1000)); console.error("went on"); }, 100)' 2>&1 > /dev/null | cat)"
got=$({ "$program" -e '
  process.stdout.on("error", (error) => { console.error(error.code); process.exit(); });
  setInterval(() => { process.stdout.write("x"); }, 20)' 2>&3 | true; } 3>&1)
check 'write without a reader' "EPIPE" "$got"
got=$({ "$program" -e 'setTimeout(() => { for (let i = 0; i < 1000; i++) console.log("x".repeat(1000)); console.error("went on"); }, 300)' 2>&3 | true; } 3>&1)
check 'console without a reader' "went on" "$got"
folder=$(mktemp -d)
printf 'A_FILE=one\nA_SECOND="two words"\nA_THIRD=no\n' > "$folder/a.env"
printf 'A_FILE=later\nA_FOURTH=4\n' > "$folder/b.env"
check 'files of the environment' "one two words kept 4" "$(A_THIRD=kept "$program" --env-file "$folder/a.env" "--env-file=$folder/b.env" -e '
  console.log(process.env.A_FILE, process.env.A_SECOND, process.env.A_THIRD, process.env.A_FOURTH)')"
"$program" --env-file "$folder/none" -e 1 2> /dev/null
check 'status of a missing file' "9" "$?"
# Options that Node has too.
check 'a value' "3 function" "$("$program" -p '`${1 + 2} ${typeof require}`')"
check 'both letters' "7" "$("$program" -pe '3 + 4')"
check 'builtins of a text' "true function" "$("$program" -e 'console.log(os === require("os"), typeof fs.readFileSync)')"
check 'what a text is' "string" "$("$program" --input-type=module -e 'console.log(typeof import.meta.url)')"
check 'what a text is not' "commonjs" "$("$program" --input-type commonjs -e 'console.log(typeof require === "function" ? "commonjs" : "")')"
"$program" --input-type=other -e 1 2> /dev/null
check 'status of another type' "9" "$?"
echo 'globalThis.first = 1' > "$folder/first.js"
check 'loaded first' "1" "$("$program" -r "$folder/first.js" -p first)"
check 'options of the process' '["--no-warnings","-p","JSON.stringify(process.execArgv)"]' "$("$program" --no-warnings -p 'JSON.stringify(process.execArgv)')"
check 'collector' "function undefined" "$("$program" --expose-gc -p 'gc(); typeof gc') $("$program" -p 'typeof gc')"
check 'title' "a name" "$("$program" '--title=a name' -p process.title)"
check 'no warnings' "" "$("$program" --no-warnings -e 'process.emitWarning("x")' 2>&1)"
check 'deprecation thrown' "DEP1" "$("$program" --throw-deprecation -e 'process.on("uncaughtException", (error) => console.log(error.code)); process.emitWarning("x", "DeprecationWarning", "DEP1")')"
check 'rejections with none' "on" "$("$program" --unhandled-rejections=none -e 'Promise.reject(1); setTimeout(() => console.log("on"), 1)')"
check 'rejections with warn' "2" "$("$program" --unhandled-rejections=warn -e 'let n = 0; process.on("warning", () => n++); Promise.reject(1); setTimeout(() => console.log(n), 1)' 2> /dev/null)"
"$program" --unhandled-rejections=other -e 1 2> /dev/null
check 'status of another mode' "9" "$?"
check 'words of a rejection' "1" "$("$program" -e 'Promise.reject(1)' 2>&1 | grep -c 'not handled with .catch()')"
rm -r "$folder"
exit $failed
