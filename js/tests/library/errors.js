// Error classes, stacks and codes as programs look at them.
class MyError extends Error { constructor(m) { super(m); this.name = 'MyError'; } }
const e = new MyError('hi');
console.log(e instanceof MyError, e instanceof Error, e.stack.split('\n')[0], /^    at .*errors\.js:3:/.test(e.stack.split('\n')[1]), Object.prototype.toString.call(e));
console.log(new TypeError('t') instanceof Error, TypeError.prototype.constructor === TypeError, Error('no new') instanceof Error, new Error('c', { cause: 1 }).cause);
try { null.x; } catch (x) { console.log(x instanceof TypeError, x.constructor === TypeError, x.name); }
try { undefinedName; } catch (x) { console.log(x instanceof ReferenceError, x.constructor === ReferenceError); }
const o = {}; Error.captureStackTrace(o); console.log(typeof o.stack, o.stack.includes('errors.js'));
function hidden() { const h = {}; Error.captureStackTrace(h, hidden); return h.stack; } console.log(hidden().includes('hidden'));
Error.prepareStackTrace = (err, sites) => sites[0].getFileName().split('/').pop() + ':' + sites[0].getLineNumber(); console.log(new Error('x').stack); Error.prepareStackTrace = undefined;
for (const f of [() => Buffer.from(5), () => require('path').join(1), () => require('fs').readFileSync(true), () => new URL('nope'), () => process.exit('abc'), () => process.chdir(1), () => setTimeout(), () => structuredClone(() => {}), () => require('nope-nope'), () => require('./nope'), () => require(''), () => require('node:nope'), () => new AbortSignal(), () => atob('a'), () => JSON.parse('{'), () => require('fs').readFileSync('/nope/nope'), () => require('fs').openSync('/', 'zz'), () => require('fs').writeFileSync('/nope/x', {}), () => Buffer.alloc(-1), () => new TextDecoder('nope'), () => process.kill(1, 'SIGNOPE'), () => require('util').promisify(1), () => crypto.getRandomValues(1)]) {
  try { f(); console.log('no error', String(f)); } catch (x) { console.log(x.name, x.code); }
}
Promise.any([Promise.reject(new Error('1'))]).catch((x) => console.log(x.constructor.name, x.errors.length));
