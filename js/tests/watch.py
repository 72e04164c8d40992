#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""watch.py PROGRAM: `vigil run --watch` starts a program again when a file that it has loaded changes, and ends with it."""
import os
import signal
import subprocess
import sys
import tempfile

program = sys.argv[1]
folder = tempfile.mkdtemp()


def path(name):
    return os.path.join(folder, name)


def write(name, text):
    """Into the file itself."""
    with open(path(name), 'w', encoding='utf-8') as file:
        file.write(text)


def replace(name, text):
    """As editors do it: another file takes its name."""
    write(f'{name}.new', text)
    os.rename(path(f'{name}.new'), path(name))


class Watcher:
    def __init__(self, *words):
        self.process = subprocess.Popen([program, '--watch', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        cwd=folder, text=True)

    def expect(self, wanted):
        """Reads until a line begins so; what the watcher and the program say in between is theirs."""
        seen = []
        while True:
            line = self.process.stdout.readline()
            if line == '':
                sys.exit(f'{wanted!r} did not come; before the end there were {seen}')
            seen.append(line)
            if line.startswith(wanted):
                return line.strip()

    def end(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)
        self.process.stdout.read()
        status = self.process.wait()
        if status != 128 + signo:
            sys.exit(f'status {status} after signal {signo}')


STAYS = 'setInterval(() => {}, 1000000);\n'
# A program that goes on: its modules, a script and JSON, by either way of writing.
write('dep.mjs', 'export const dep = 1;\n')
write('old.cjs', 'module.exports = 1;\n')
write('data.json', '1\n')
write('main.mjs', "import { dep } from './dep.mjs';\nimport old from './old.cjs';\nimport data from './data.json' with { type: 'json' };\n"
      f"console.log('run', dep, old, data, process.argv[2], process.pid, 'end');\n{STAYS}")
watcher = Watcher('main.mjs', 'word')
first = watcher.expect('run 1 1 1 word')
replace('dep.mjs', 'export const dep = 2;\n')
second = watcher.expect('run 2 1 1 word')
if first.split()[5] == second.split()[5]:
    sys.exit('the same process ran again')
write('dep.mjs', 'export const dep = 3;\n')
watcher.expect('run 3 1 1')
write('old.cjs', 'module.exports = 2;\n')
watcher.expect('run 3 2 1')
replace('data.json', '2\n')
pid = int(watcher.expect('run 3 2 2').split()[5])
# It ends with the watcher.
watcher.end()
try:
    os.kill(pid, 0)
    sys.exit(f'{pid} is still there')
except ProcessLookupError:
    pass

# A program that ends, fails, or cannot even be read waits for a change.
write('ends.mjs', "console.log('run once');\n")
watcher = Watcher('ends.mjs')
watcher.expect('run once')
watcher.expect('(vigil) ends.mjs has ended (status 0)')
write('ends.mjs', "console.log('run twice'); process.exit(3);\n")
watcher.expect('run twice')
watcher.expect('(vigil) ends.mjs has ended (status 3)')
write('ends.mjs', "this is no program\n")
watcher.expect('SyntaxError')
watcher.expect('(vigil) ends.mjs has ended (status 1)')
replace('ends.mjs', f"console.log('run at last');\nprocess.on('SIGINT', () => {{ console.log('told'); process.exit(0); }});\nconsole.log('listens');\n{STAYS}")
watcher.expect('run at last')
watcher.expect('listens')
# One that does not end by itself when it is told to is told again, as a signal that cannot be refused.
replace('ends.mjs', f"process.on('SIGTERM', () => console.log('refuses'));\nconsole.log('run and stay');\n{STAYS}")
watcher.expect('run and stay')
replace('ends.mjs', f"console.log('run after all');\n{STAYS}")
watcher.expect('refuses')
watcher.expect('run after all')
watcher.end(signal.SIGINT)

# A file that changes before its folder can have been watched.
write('early.mjs', 'export default 1;\n')
write('begin.mjs', "import fs from 'node:fs';\nimport early from './early.mjs';\nconsole.log('run', early, 'end');\n"
      f"if (early === 1) fs.writeFileSync(new URL('./early.mjs', import.meta.url), 'export default 2;');\n{STAYS}")
watcher = Watcher('--no-module-cache', 'begin.mjs')
watcher.expect('run 1 end')
watcher.expect('run 2 end')
watcher.end()

for words in (['-e', '1'], ['-'], ['--test']):
    status = subprocess.run([program, '--watch', *words], stderr=subprocess.DEVNULL, check=False).returncode
    if status != 9:
        sys.exit(f'--watch {words}: status {status}')
subprocess.run(['rm', '-r', folder], check=True)
