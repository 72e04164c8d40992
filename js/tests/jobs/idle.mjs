// A queue that only enqueues and looks does not keep the program alive; one that runs jobs does until it is closed or unref'd.
import { open } from 'vigil:jobs';
const first = await open('memory:first');
await first.enqueue('x');
const second = await open('memory:second');
second.handle('x', () => undefined);
await second.start();
second.unref();
process.on('exit', () => console.log('the end'));
