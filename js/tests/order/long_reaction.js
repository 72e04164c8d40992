// A script and a reaction that take long are no storm: what they leave to do comes before the timers that fall due in that time.
const spin = (ms) => { for (const end = Date.now() + ms; Date.now() < end;); };
setTimeout(() => console.log('timer'), 1);
Promise.resolve().then(() => spin(250)).then(() => process.nextTick(() => console.log('tick'))).then(() => console.log('reaction'));
spin(250);
Promise.resolve().then(() => console.log('first reaction'));
console.log('script');
