// SPDX-License-Identifier: MIT
// node:readline: how lines end, questions, pausing, closing, and what moves the cursor.
'use strict';
const readline = require('node:readline');
const { promisify } = require('node:util');
const { PassThrough, Writable } = require('node:stream');

function sink() {
  const made = new Writable({
    write(chunk, encoding, done) {
      made.text += chunk;
      done();
    },
  });
  made.text = '';
  return made;
}
async function linesOf(pieces, options) {
  const input = new PassThrough();
  const rl = readline.createInterface({ input, ...options });
  const got = [];
  rl.on('line', (line) => got.push(line));
  const closed = new Promise((done) => rl.on('close', done));
  for (const piece of pieces) {
    input.write(piece);
    await new Promise(setImmediate);
  }
  input.end();
  await closed;
  return got;
}

async function main() {
  console.log(await linesOf(['a\nb\r\nc\rd\u2028e\u2029f\n\ng']));
  console.log(await linesOf(['one\r', '\ntwo\r', 'three', ' and four', '\n']));
  const bytes = Buffer.from('ü€😀\nrest');
  console.log(await linesOf([...bytes].map((byte) => Buffer.of(byte))));
  console.log(await linesOf([]), await linesOf(['']), await linesOf(['\n']));

  // By iteration.
  const input = new PassThrough();
  const rl = readline.createInterface({ input, crlfDelay: Infinity });
  input.end('x\ny\nz');
  const seen = [];
  for await (const line of rl) seen.push(line);
  console.log(seen, rl.closed, rl.line, rl.cursor, rl.terminal);

  // Questions.
  const output = sink();
  const asked = new PassThrough();
  const talk = readline.createInterface({ input: asked, output, prompt: '$ ' });
  console.log(talk.getPrompt());
  talk.on('line', (line) => console.log('line', line));
  talk.prompt();
  talk.question('name? ', (name) => {
    console.log('name', name);
    talk.question('again? ', { signal: new AbortController().signal }, (again) => console.log('again', again));
  });
  asked.write('me\nyes\nmore\n');
  await new Promise(setImmediate);
  const answered = promisify(talk.question).call(talk, 'promise? ');
  asked.write('kept\n');
  console.log(await answered);
  const gone = new AbortController();
  talk.question('never? ', { signal: gone.signal }, () => console.log('never'));
  gone.abort();
  asked.write('goes to line\n');
  await new Promise(setImmediate);
  console.log(JSON.stringify(output.text));
  for (const name of ['pause', 'resume', 'close']) talk.on(name, () => console.log(name));
  talk.pause();
  talk.pause();
  console.log(talk.paused, asked.isPaused());
  talk.write('written\n');
  talk.close();
  talk.close();
  for (const wrong of [() => talk.question('x', () => {}), () => readline.cursorTo(output, 'a', 1),
    () => readline.cursorTo(output, NaN), () => readline.clearLine(output, 0, 1), () => readline.createInterface({ input, completer: 1 }),
    () => readline.createInterface({ input, historySize: -1 }), () => readline.createInterface({ input, tabSize: 'a' })]) {
    try {
      wrong();
      console.log('nothing');
    } catch (error) {
      console.log(error.name, error.code, error.message);
    }
  }
  const ending = new AbortController();
  const ended = readline.createInterface({ input: new PassThrough(), signal: ending.signal });
  ended.on('close', () => console.log('closed by a signal'));
  ending.abort();

  // The cursor.
  output.text = '';
  console.log(readline.clearLine(output, -1), readline.clearLine(output, 1), readline.clearLine(output, 0), readline.clearScreenDown(output),
    readline.cursorTo(output, 3), readline.cursorTo(output, 3, 4), readline.moveCursor(output, -1, 2), readline.moveCursor(output, 5, -6),
    readline.moveCursor(output, 0, 0), readline.cursorTo(null, 1));
  console.log(JSON.stringify(output.text));

  const promises = require('node:readline/promises');
  console.log(promises === readline.promises);
  const from = new PassThrough();
  const better = promises.createInterface({ input: from, output });
  const first = better.question('one? ');
  from.write('1\n');
  console.log(await first);
  await better.question('two? ', { signal: AbortSignal.abort('why') }).catch((error) => console.log(error.name, error.code, error.cause));
  better.close();
  await better.question('x').catch((error) => console.log(error.code, error.message));
  output.text = '';
  const moves = new promises.Readline(output);
  await moves.clearLine(0).cursorTo(1, 2).moveCursor(1, 1).clearScreenDown().rollback().cursorTo(7).commit();
  console.log(JSON.stringify(output.text));
  const plain = readline.Interface({ input: new PassThrough() });
  console.log(plain instanceof readline.Interface, plain.constructor === readline.Interface);
  plain.close();
}
main();
