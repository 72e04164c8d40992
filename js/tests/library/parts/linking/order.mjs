import './order_awaits.mjs';
import './order_plain.mjs';
import './order_last.mjs';
console.log('order');
process.nextTick(() => console.log('tick'));
queueMicrotask(() => console.log('micro'));
await null;
console.log('order goes on');
