// SPDX-License-Identifier: MIT
// vigil:repl: read, evaluate, print, as `vigil repl` does it. The reading itself is the caller's: start(io) returns functions for
// a line, the end of the input, an interrupt and completion; io.prompt(text) is called when the next line is wanted.
//
// Lines wait in a queue and are evaluated one after the other, each in a callback of its own: what an interrupt ends is that
// callback, and the next one goes on.
'use strict';

const Module = load('modules');
const { rewriteAwait, check } = load('repl_source');
const { complete } = load('repl_complete');
const { sources } = load('errors');
const { inspect } = load('inspect');
const fs = load('fs');
const path = load('path');

const KEEPS = Symbol('keeps'); // a line that changed the state and has no value to show

function start(io) {
  const { terminal } = io;
  const module = new Module('<repl>', undefined);
  module.filename = null;
  module.path = process.cwd();
  module.paths = Module._nodeModulePaths(process.cwd());
  const require = Module.createRequire(path.join(process.cwd(), '<repl>'));
  const state = {
    waiting: [], // lines that nobody has looked at yet
    busy: false, // something is being evaluated or awaited
    ended: false, // there will be no more lines
    buffer: '', // the lines of an unfinished piece
    session: [], // what .save writes
    editor: null, // the lines of .editor
    names: new Set(), // declared with let, const and class: no properties of the global object
    count: 0,
    turn: 0, // which piece is being awaited: one that was interrupted must not answer
    armed: false, // the next interrupt at an empty prompt ends it
  };

  // ---- globals ----
  const last = { _: undefined, _error: undefined };
  for (const name of ['_', '_error']) {
    Object.defineProperty(globalThis, name, {
      configurable: true,
      get: () => last[name],
      set(value) {
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
        last[name] = KEEPS;
        print(`Expression assignment to ${name} now disabled.`);
      },
    });
  }
  Object.assign(globalThis, { module, exports: module.exports, require });
  for (const name of Module.builtinModules) {
    if (/[/]/.test(name) || name in globalThis) continue;
    Object.defineProperty(globalThis, name, {
      configurable: true, enumerable: false,
      get() {
        const value = require(name);
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
        return value;
      },
      set(value) {
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
      },
    });
  }
  Object.defineProperty(globalThis, '$vigilImport', { value: load('esm').importFrom(), configurable: true, enumerable: false });
  process.on('uncaughtException', (error) => {
    if (terminal && !state.busy) print('');
    fail(error);
    if (!state.busy) next();
  });

  // ---- printing ----
  function print(text) {
    process.stdout.write(`${text}\n`);
  }
  function show(value) {
    if (last._ !== KEEPS) last._ = value;
    print(inspect(value, { colors: terminal && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb', showProxy: true }));
  }
  function fail(error, excerpt = '') {
    if (last._error !== KEEPS) last._error = error;
    let text;
    if (error instanceof Error) {
      text = inspect(error);
      // The piece itself is the outermost frame, and says nothing.
      text = text.split('\n').filter((line) => !/^\s+at (async )?REPL\d+:\d+:\d+$/.test(line)).join('\n');
      if (error instanceof SyntaxError) text = text.split('\n    at ')[0];
    } else {
      text = inspect(error);
    }
    const bracket = /^\[(.*)\]$/s.exec(text);
    print(`${excerpt}Uncaught ${error instanceof Error && bracket ? bracket[1] : error instanceof Error ? text : `${text}`}`);
  }

  // ---- evaluating ----
  function evaluate(code, found) {
    const name = `REPL${++state.count}`;
    sources.set(name, code);
    let text = code;
    for (const one of found.names) state.names.add(one);
    if (found.awaits) text = rewriteAwait(code);
    if (/\bimport\s*(\/\*|\/\/|\()/.test(text)) text = load('esm_transform').transformScript(text, name, '$vigilImport');
    const value = binding.compile(text, name, 1);
    if (!found.awaits) {
      show(value);
      return finish();
    }
    const turn = ++state.turn;
    value.then(
      (result) => turn === state.turn && (show(result.value), finish()),
      (error) => turn === state.turn && (fail(error), finish()),
    );
    return undefined;
  }
  function finish() {
    state.busy = false;
    state.turn++;
    next();
  }

  // One line; the piece that it ends, if it ends one, is evaluated.
  function take(line) {
    if (state.editor !== null) {
      state.editor.push(line);
      return finish();
    }
    const command = /^\s*\.([a-z]+)(?:\s+(.*?))?\s*$/.exec(line);
    if (command !== null && !(state.buffer !== '' && !Object.hasOwn(commands, command[1])) && !/^\s*\.\d/.test(line)) {
      if (Object.hasOwn(commands, command[1])) {
        if (commands[command[1]].run(command[2] ?? '') !== KEEPS) finish();
        return undefined;
      }
      print('Invalid REPL keyword');
      return finish();
    }
    return piece(state.buffer === '' ? line : `${state.buffer}\n${line}`, true);
  }
  function piece(code, mayGoOn) {
    if (code.trim() === '') {
      state.buffer = '';
      return finish();
    }
    // "{ a: 1 }" is an object for people, and a block for the language.
    let found = /^\s*\{/.test(code) && !/;\s*$/.test(code) ? check(`(${code})`) : undefined;
    if (found === undefined || found.error !== undefined) found = check(code);
    else code = `(${code})`;
    if (found.goesOn && mayGoOn) {
      state.buffer = code;
      return finish();
    }
    state.buffer = '';
    state.session.push(code);
    try {
      return evaluate(code, found);
    } catch (error) {
      fail(error, error instanceof SyntaxError ? found.excerpt : '');
      return finish();
    }
  }

  const commands = {
    break: { help: 'Sometimes you get stuck, this gets you out', run: () => { state.buffer = ''; } },
    clear: { help: 'Alias for .break', run: () => { state.buffer = ''; } },
    editor: {
      help: 'Enter editor mode',
      run() {
        state.editor = [];
        print('// Entering editor mode (Ctrl+D to finish, Ctrl+C to cancel)');
      },
    },
    exit: { help: 'Exit the REPL', run: () => process.exit() },
    help: {
      help: 'Print this help message',
      run() {
        for (const name of Object.keys(commands)) print(`.${name.padEnd(8)} ${commands[name].help}`);
        print('\nPress Ctrl+C to abort current expression, Ctrl+D to exit the REPL');
      },
    },
    load: {
      help: 'Load JS from a file into the REPL session',
      run(file) {
        let text;
        try {
          text = fs.readFileSync(file, 'utf8');
        } catch {
          print(`Failed to load: ${file}`);
          return undefined;
        }
        piece(text, false);
        return KEEPS;
      },
    },
    save: {
      help: 'Save all evaluated commands in this REPL session to a file',
      run(file) {
        try {
          fs.writeFileSync(file, `${state.session.join('\n')}\n`);
          print(`Session saved to: ${file}`);
        } catch {
          print(`Failed to save: ${file}`);
        }
      },
    },
  };

  // ---- turns ----
  function next() {
    if (state.busy) return;
    if (state.waiting.length > 0) {
      state.busy = true;
      setImmediate(take, state.waiting.shift());
    } else if (state.ended) {
      // An unfinished piece is evaluated as it is, and says what it lacks.
      const rest = state.editor !== null ? state.editor.join('\n') : state.buffer;
      state.editor = null;
      state.buffer = '';
      if (terminal || rest.trim() === '') process.exit();
      state.busy = true;
      setImmediate(piece, rest, false);
    } else {
      io.prompt(state.editor !== null ? '' : state.buffer === '' ? '> ' : '... ');
    }
  }
  next();
  return {
    line(text) {
      state.armed = false;
      state.waiting.push(text);
      next();
    },
    // Control-D on an empty line, or the end of a file.
    eof() {
      if (state.editor !== null && terminal) {
        const code = state.editor.join('\n');
        state.editor = null;
        state.busy = true;
        print('');
        setImmediate(piece, code, false);
        return;
      }
      if (terminal) print('');
      state.ended = true;
      next();
    },
    // Control-C. `typed`: empty if the line is.
    interrupt(typed) {
      if (state.busy) {
        state.busy = false;
        state.turn++;
        state.buffer = '';
        state.waiting = [];
        const error = new Error('Script execution was interrupted by `SIGINT`');
        error.code = 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
        print(`\nUncaught Error [${error.code}]: ${error.message}`);
        next();
        return;
      }
      print('');
      if (typed === '' && state.buffer === '' && state.editor === null) {
        if (state.armed) process.exit();
        state.armed = true;
        print('(To exit, press Ctrl+C again or Ctrl+D or type .exit)');
      }
      state.buffer = '';
      state.editor = null;
      next();
    },
    complete: (text) => complete(text, { names: state.names, commands: Object.keys(commands), require }),
  };
}

module.exports = { start };
