// MessageChannel, BroadcastChannel, and structuredClone with transfer.
const log = (...args) => console.log(...args);
const { port1, port2 } = new MessageChannel();
log(port1 instanceof MessagePort, port1 instanceof EventTarget);
const buffer = new ArrayBuffer(8);
new Uint8Array(buffer)[2] = 7;
port1.postMessage({ n: 1, buffer, view: new Uint8Array(buffer, 2, 3), map: new Map([[buffer, 'key']]) }, [buffer]);
log(buffer.byteLength);
for (const bad of [() => port1.postMessage(() => {}), () => port1.postMessage(1, [port1]),
                   () => new MessagePort()]) {
  try {
    bad();
    log('no error');
  } catch (error) {
    log(error.name);
  }
}
const seen = [];
port2.addEventListener('message', (event) => {
  seen.push(event.data);
  if (seen.length === 1) {
    const { data } = event;
    log(data.n, data.buffer.byteLength, data.view[0], data.view.buffer === data.buffer, [...data.map.keys()][0] === data.buffer);
    setImmediate(() => log('turn'));
    const inner = new MessageChannel();
    inner.port1.onmessage = (answer) => {
      log('through', answer.data);
      inner.port1.close();
      port1.postMessage('last');
    };
    port2.postMessage({ port: inner.port2 }, [inner.port2]);
  } else {
    log(event.data, event instanceof Event, event.ports.length);
    port2.close();
  }
});
port1.onmessage = (event) => {
  const { port } = event.data;
  port.postMessage('over');
};
port1.addEventListener('close', () => log('closed'));
port2.start();

const a = new BroadcastChannel('news');
const b = new BroadcastChannel('news');
const other = new BroadcastChannel('else');
other.onmessage = () => log('never');
b.onmessage = (event) => {
  log('broadcast', event.data, a.name);
  for (const channel of [a, b, other]) channel.close();
  try {
    a.postMessage(1);
  } catch (error) {
    log(error.name);
  }
};
a.postMessage({ x: [1] });

const source = new ArrayBuffer(4);
const shared = { source, twice: [source, source], view: new DataView(source, 1, 2), set: new Set([source]) };
const moved = structuredClone(shared, { transfer: [source] });
log(source.byteLength, moved.source === moved.twice[1], moved.view.byteLength, moved.view.buffer === moved.source, moved.set.has(moved.source));
const kept = new ArrayBuffer(2);
try {
  structuredClone({ kept, bad() {} }, { transfer: [kept] });
} catch (error) {
  log(error.name, kept.byteLength);
}

// A port that was closed is detached; its other end is not.
{
  const [first, second] = [new MessageChannel(), new MessageChannel()];
  first.port1.close();
  try {
    second.port1.postMessage(null, [first.port1]);
  } catch (error) {
    console.log('closed', error.name);
  }
  second.port1.postMessage(null, [first.port2]);
  second.port1.close();
}
