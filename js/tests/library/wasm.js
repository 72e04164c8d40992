// WebAssembly's promises settle, keep the program alive, and reject as they should; finalizers run.
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0,
  32, 0, 32, 1, 106, 11]);
process.on('unhandledRejection', (error) => console.log('unhandled', error.name));
console.log(WebAssembly.compile.name, WebAssembly.compile.length, WebAssembly.instantiate.length, WebAssembly.validate(bytes));
(async () => {
  const module = await WebAssembly.compile(bytes);
  console.log(module instanceof WebAssembly.Module);
  const instance = await WebAssembly.instantiate(module);
  console.log(instance.exports.add(2, 3));
  const both = await WebAssembly.instantiate(bytes, {});
  console.log(Object.keys(both).sort(), both.instance.exports.add(20, 22));
  console.log(await WebAssembly.compile(new Uint8Array([1, 2, 3])).catch((error) => error.name));
  WebAssembly.compile(new Uint8Array(4));
})();
