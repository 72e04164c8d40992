const util=require('util'), assert=require('assert'), os=require('os'), fs=require('fs'), fsp=require('fs/promises'), url=require('url');
console.log(Buffer.from('héllo').toString('base64'), Buffer.from('aGk', 'base64'), Buffer.concat([Buffer.from('a'),Buffer.from([1,2])]), Buffer.from('ff00','hex'));
console.log(new URL('https://a:b@ex.com:8080/p/../q?x=1#h').href, new URLSearchParams('a=1&b=2').get('b'));
console.log(structuredClone({a:[1,new Date(0),new Map([[1,{b:2}]])],s:new Set([1]),r:/x/g,e:new TypeError('q').message}));
console.log(new TextDecoder().decode(new TextEncoder().encode('€uro')), atob('aGk='), btoa('hi'));
console.log(util.format('%s %d %i %f %j %o %O %%', 'a', 1.5, 1.5, '2.5', {a:1}, [1], {b:{c:{d:1}}}));
try { assert.strictEqual(1,2); } catch(e) { console.log(e.message, e.code); }
try { assert.deepStrictEqual({a:1,b:[1,2]},{a:1,b:[1,3]}); } catch(e) { console.log(e.message); }
assert.deepEqual([1,{a:2}],[1,{a:'2'}]);
console.log(util.isDeepStrictEqual(new Map([[{a:1},1]]), new Map([[{a:1},1]])), util.types.isPromise(Promise.resolve()), util.types.isPromise({then(){}}));
const ac = new AbortController(); ac.signal.addEventListener('abort', (e) => console.log('abort', e.type, ac.signal.reason.name)); ac.abort();
AbortSignal.timeout(2500).addEventListener('abort', function(e){ console.log(this.reason.name, this.reason.code) });
setTimeout(()=>{}, 4000);
(async()=>{
 const d = await fsp.mkdtemp(os.tmpdir()+'/vg-'); await fsp.writeFile(d+'/x','hello'); await fsp.appendFile(d+'/x',' world');
 console.log(await fsp.readFile(d+'/x','utf8'), (await fsp.readFile(d+'/x')).length, (await fsp.stat(d+'/x')).size, await fsp.readdir(d));
 try { await fsp.readFile(d+'/nope'); } catch(e) { console.log(e.code, e.syscall, e.errno, e.message.replace(d,'')); }
 try { fs.readFileSync(d); } catch(e) { console.log(e.message); }
 const h = await fsp.open(d+'/x'); const b = Buffer.alloc(5); console.log(await h.read(b,0,5,6), b.toString()); await h.close();
 await fsp.mkdir(d+'/a/b/c',{recursive:true}); await fsp.rm(d,{recursive:true}); console.log(fs.existsSync(d));
 const c = new AbortController(); const p = fsp.readFile('/etc/passwd',{signal:c.signal, priority:'high'}); c.abort(); try { await p; console.log('read'); } catch(e) { console.log(e.name, e.code); }
 console.log(crypto.randomUUID().length, performance.now()>0, await util.promisify(setTimeout)(1,'v'));
 const {setTimeout: st} = require('timers/promises'); console.log(await st(1,'w'));
 console.log(path=require('path').relative('/a/b/c','/a/d'), url.pathToFileURL('/a b').href, url.fileURLToPath('file:///a%20b'));
})();
console.table([{a:1,b:'x'},{a:2,c:3}]); console.group('g'); console.log('in\nner'); console.groupEnd(); console.count(); console.count(); console.assert(false,'asserted %d',1); console.dir({a:{b:{c:{}}}},{depth:0});
console.log(new Map([['a',{b:1}]]), new Set([[1,2]]), [['nested',[1,[2,[3,[4]]]]]], 'x'.repeat(5), Array.from({length:120},(_, i)=>i), new Proxy({a:1},{}), globalThis === global);
