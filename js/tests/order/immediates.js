// Immediates: arguments, clearing in every state, those set while running, unref.
const log = (...a) => console.log(...a);
const a = setImmediate(() => log('never'));
clearImmediate(a); clearImmediate(a); clearImmediate(null); clearImmediate({}); 
setImmediate((...x) => log('args', x), 1, 2);
const first = setImmediate(() => { log('clears the next'); clearImmediate(second); clearImmediate(last); process.nextTick(() => clearImmediate(fourth)); });
const second = setImmediate(() => log('never'));
setImmediate(() => { log('third'); setImmediate(() => log('next turn 1')); Promise.resolve().then(() => log('micro')); });
const fourth = setImmediate(() => log('never: cleared by a tick'));
setImmediate(() => { log('fifth'); setImmediate(() => log('next turn 2')); });
const last = setImmediate(() => log('never'));
log(first.hasRef(), first.unref().hasRef(), first.ref().hasRef());
setImmediate(() => log('sixth'));
