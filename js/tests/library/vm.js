// Scripts in this context and in others. Names of a context are those of its object, in both directions.
const vm = require('node:vm');

const sandbox = vm.createContext({ x: 1, list: [1, 2], console });
const run = (text) => vm.runInContext(text, sandbox);
console.log(vm.isContext(sandbox), vm.isContext({}), vm.createContext(sandbox) === sandbox);
console.log('read', run('x'), 'write', run('x = 2'), sandbox.x, 'new', run('fresh = 3'), sandbox.fresh);
sandbox.later = 4;
console.log('from outside', run('later'), 'deleted', run('delete later'), 'later' in sandbox, run('typeof later'));

// Declarations at the top.
console.log('var', run('5; var y = x + 1'), sandbox.y, run('y'));
sandbox.y = 9;
console.log('changed outside', run('y'), run('y++; y'), sandbox.y);
console.log('functions', run('before(1);\nvar a = 1, b;\nfunction before(n) { return n + 1; }\nbefore(2)'), typeof sandbox.before, sandbox.before.name, Object.keys(sandbox).join());
console.log('without a value', run('b'), run('var x; x'));
console.log('loops', run('for (var i = 0, j = 10; i < 3; i++) j--; i + j'), sandbox.i, run('for (var k in { p: 1 }); k'), run('for (var e of [7]) ; e'));
console.log('patterns', run('var { p, q: [r = 5, ...s], ...t } = { p: 1, q: [undefined, 3], u: 4 }; [p, r, s.length, t.u].join()'), sandbox.r);
console.log('no semicolons', run('var m = 1\nfunction noop() {}\n[m].length'), run('list\nvar n = 2\n;[n].length'));
console.log('in blocks', run('if (true) var inside = 1; else var other = 2\ntry { var tried = 3 } finally {} ; inside + tried'), run('other'));
console.log('let stays', run('let l = 3; const c = 4; class K {} l'), run('l + c'), 'l' in sandbox, 'K' in sandbox);
console.log('self-replacing', run('function once() { once = () => 2; return 1; } [once(), once()].join()'));
console.log('strict', run('"use strict"; var strict = 1; function self() { return this; } [strict, self()].join()'));
console.log('generators', run('function* g() { yield 1; } async function later2() {} [...g()].join() + later2.constructor.name'));
console.log('global', run('globalThis === this && this.x'), run('Object.keys(globalThis).includes("x")'), run('"x" in globalThis'));

// Builtins of its own.
console.log(vm.runInNewContext('[] instanceof Array'), vm.runInNewContext('[]') instanceof Array, vm.runInNewContext('Array') === Array);
const outer = { f: (value) => Array.isArray(value) };
console.log(vm.runInNewContext('f([1])', outer), vm.runInNewContext('typeof require + typeof process'));
try {
  run('\n\nnull.property');
} catch (error) {
  console.log(error instanceof TypeError, error.name);
}
try {
  vm.runInNewContext('throw 5');
} catch (error) {
  console.log('thrown', error);
}

// This context.
globalThis.shared = 4;
console.log(vm.runInThisContext('shared + 1'), vm.runInThisContext('[]') instanceof Array);
vm.runInThisContext('var made = 6; function madeToo() { return made; }');
console.log(globalThis.made, madeToo());

// Scripts.
const script = new vm.Script('count = (typeof count === "number" ? count : 0) + 1');
const one = vm.createContext({});
const two = vm.createContext({ count: 10 });
script.runInContext(one);
console.log(script.runInContext(one), script.runInContext(two), one, two, script.runInNewContext({ count: 20 }));
for (const make of [
  () => new vm.Script('a b'), () => vm.runInContext('1', {}), () => vm.createContext(1), () => vm.isContext('x'),
  () => new vm.Script('1', { filename: 1 }), () => new vm.Script('1', { lineOffset: 1.5 }), () => vm.compileFunction('}, function () {'),
  () => vm.compileFunction(1), () => vm.runInThisContext('1', { timeout: 'x' }), () => vm.runInThisContext('1', { displayErrors: 1 }),
]) {
  try {
    make();
    console.log('no error');
  } catch (error) {
    console.log(error.name, error.code ?? '');
  }
}
console.log(vm.compileFunction('return a + b', ['a', 'b'])(1, 2), vm.compileFunction('return x', [], { parsingContext: sandbox })(),
            vm.compileFunction('return z + 1', [], { contextExtensions: [{ z: 7 }] })());

// What the library does with values of a context.
const util = require('node:util');
console.log(util.inspect(vm.runInNewContext('({ a: [1, new Map([[1, 2]]), new Set([3]), /x/g, new Date(0), () => {}] })')));
console.log(require('node:path').join(...vm.runInNewContext('["a", "b"]')), require('node:child_process').execFileSync('echo', vm.runInNewContext('["c"]')).toString());
vm.runInNewContext('tick(() => say("called"), 1)', { tick: process.nextTick, say: console.log });

const dumb = vm.createContext({}, { codeGeneration: { strings: false } });
for (const text of ['eval("1")', 'new Function("1")', '1 + 1']) {
  try {
    console.log(vm.runInContext(text, dumb));
  } catch (error) {
    console.log(error.name, error.message);
  }
}

// Promises of a context are settled like others, and contexts keep what their functions need.
run('Promise.resolve(1).then((value) => console.log("then", value))');
const getter = vm.runInNewContext('() => kept', { kept: 'kept' });
setImmediate(() => console.log(getter()));
