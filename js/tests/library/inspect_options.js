// SPDX-License-Identifier: MIT
// util.inspect and its options, and the rest of util: what Node 20 prints.
const util=require('util');
const o={a:{b:{c:{d:1}}},arr:[1,2,3,[4,[5,[6]]]],f(){},s:'str',n:null,m:new Map([['k',{v:1}]]),sy:Symbol('z')};
for(const opt of [{depth:0},{depth:1},{depth:Infinity},{compact:false},{compact:true},{compact:1},{breakLength:20},{breakLength:Infinity},{sorted:true},{colors:true},{showHidden:true,depth:0},{maxArrayLength:2},{maxStringLength:2},{numericSeparator:true},{getters:true}]) console.log(JSON.stringify(opt), util.inspect(o,opt));
console.log(util.inspect({get a(){return {x:1}}, set a(v){}, get b(){throw new Error('g')}},{getters:true}));
console.log(util.inspect([123456789.123,1e21,-1234567n],{numericSeparator:true}));
console.log(util.inspect('a\'b'), util.inspect("x\ty\u0000\u001b"), util.inspect('\ud800'), util.inspect('é😀'));
class P{constructor(){this.q=1} [util.inspect.custom](d,opts,ins){return 'custom '+d+' '+typeof opts.stylize+' '+ins(this.q)}}
console.log(util.inspect(new P), util.inspect({p:new P}), [new P]);
console.log(util.inspect({[util.inspect.custom](){return {replaced:1}}}));
console.log(util.inspect(new Map([[{a:1},'b']]),{showHidden:true}), util.inspect(new Set([1]),{showHidden:true}), util.inspect([1],{showHidden:true}));
console.log(util.inspect(Object.freeze([1,2])), util.inspect(new (class extends Set{})), util.inspect(new (class extends Promise{})(()=>{})));
console.log(util.format('%s',12n), util.format('%o',[1,{a:2}]), util.format('a','b',{c:1}), util.format(1,2,'3'), util.format('%s %s','a'), util.format('%%%s%%','x'), util.format('%j',{toJSON(){return 'tj'}}), util.format('%d','0x10'));
console.log(util.format('%j', (()=>{const c={};c.c=c;return c})()));
console.log(util.isDeepStrictEqual({a:[1,new Map([[1,{}]])]},{a:[1,new Map([[1,{}]])]}), util.isDeepStrictEqual(NaN,NaN), util.isDeepStrictEqual(0,-0), util.isDeepStrictEqual(new Set([{a:1}]),new Set([{a:1}])));
console.log(util.types.isPromise(Promise.resolve()), util.types.isRegExp(/a/), util.types.isDate(new Date), util.types.isProxy(new Proxy({},{})), util.types.isGeneratorFunction(function*(){}), util.types.isAsyncFunction(async()=>{}), util.types.isNativeError(new TypeError), util.types.isBoxedPrimitive(Object(1)), util.types.isTypedArray(Buffer.alloc(1)), util.types.isMapIterator(new Map().keys()));
console.log(util.inspect.defaultOptions); 
console.log(util.stripVTControlCharacters('\u001b[31mx\u001b[0m'), util.toUSVString('a\ud800'));
(async()=>{ const sleep=util.promisify(setTimeout); console.log(await sleep(1,'v')); const p=util.promisify((a,cb)=>cb(null,a+1)); console.log(await p(1)); try{await util.promisify(cb=>cb(new Error('pe')))()}catch(e){console.log(e.message)}
 util.callbackify(async x=>x*2)(4,(e,v)=>console.log(e,v)); util.callbackify(async()=>{throw null})((e)=>console.log(e.code,e.message)); })();
function Old(){} function Base(){} Base.prototype.hi=function(){return 'hi'}; util.inherits(Old,Base); console.log(new Old().hi(), Old.super_===Base, new Old());
console.log(util.inspect(new Error('m'),{depth:0}).split('\n')[0], util.inspect(Object.assign(new Error('with'),{code:'X',extra:{a:1}})).split('\n').slice(-3).join('|'));
const e=new Error('outer',{cause:new TypeError('inner')}); console.log(util.inspect(e).split('\n').filter(l=>!/ at |lines matching/.test(l)).join('|'));
const ag=new AggregateError([new Error('x'),new RangeError('y')],'agg'); console.log(util.inspect(ag).split('\n').filter(l=>!l.includes(' at ')).join('|'));
class MyErr extends Error{constructor(m){super(m);this.name='MyErr'}} console.log(util.inspect(new MyErr('mm')).split('\n')[0]); class E2 extends Error{}; console.log(util.inspect(new E2('e2')).split('\n')[0]); const noStack=new Error('ns'); noStack.stack=undefined; console.log(util.inspect(noStack)); const e5=new Error('five'); e5.name='Renamed'; console.log(util.inspect(e5).split('\n')[0]); const e6=new Error(''); console.log(util.inspect(e6).split('\n')[0]); delete e6.stack; console.log(util.inspect(e6));
console.log(util.deprecate(()=>5,'old')(), util.debuglog('x').enabled, typeof util.TextEncoder, util.inspect(new util.TextDecoder()));
console.log(util.parseArgs({args:['-f','--bar','b','pos'],options:{f:{type:'boolean',short:'f'},bar:{type:'string'}},allowPositionals:true}));
console.log(util.styleText?.('red','x'));
console.log(util.getSystemErrorName(-2), util.types.isArrayBuffer(new ArrayBuffer(1)), util.isArray([]));
console.log(util.inspect(new URL('https://u:p@h.com:8080/p?q=1#f')), util.inspect(new URLSearchParams('a=1&b=2')), util.inspect(new AbortController()), util.inspect(new Event('x')).split('\n')[0], util.inspect(new TextEncoder()));
