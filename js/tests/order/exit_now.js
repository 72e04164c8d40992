// process.exit ends at once, through try, finally and loops.
process.on('exit', (c) => { console.log('exit', c); process.exit(9); });
process.nextTick(() => console.log('never'));
try { (function f() { process.exit('5'); })(); } catch { console.log('never'); } finally { console.log('never'); }
console.log('never');
