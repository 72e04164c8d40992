// A handler that throws ends the process with 7, without an exit event.
process.on('uncaughtException', () => { console.log('handler'); throw new Error('second'); });
process.on('exit', () => console.log('never'));
setTimeout(() => { throw new Error('first'); }, 1);
setTimeout(() => console.log('never'), 50);
