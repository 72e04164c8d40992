// SPDX-License-Identifier: MIT
// EventEmitter, EventTarget, AbortSignal: what Node 20 prints.
const t=(f)=>{try{console.log(f())}catch(e){console.log(e.name,e.code,e.message)}};
const EE=require('events');const {EventEmitter,once,on}=EE;
const e=new EE();e.on('a',function(...x){console.log('a',x,this===e)});e.prependListener('a',()=>console.log('first'));e.once('a',()=>console.log('once'));
t(()=>e.emit('a',1,2));
t(()=>e.emit('a'));
t(()=>e.emit('none'));
t(()=>e.emit('error',new Error('bad')));
t(()=>e.emit('error','str'));
t(()=>e.emit('error',{a:1}));
t(()=>e.emit('error'));
t(()=>e.on('x','notfn'));
t(()=>e.on('x'));
t(()=>e.listenerCount('a'));
t(()=>e.eventNames());
t(()=>e.getMaxListeners());
t(()=>e.setMaxListeners(-1));
t(()=>e.rawListeners('a').length);
t(()=>EE.defaultMaxListeners);
t(()=>e.off('a',()=>{})===e);
t(()=>e.removeAllListeners('a').listenerCount('a'));
const l=new EE();l.on('newListener',(n,f)=>console.log('new',n,typeof f));l.on('removeListener',(n)=>console.log('rem',n));const h=()=>{};l.on('q',h);l.off('q',h);
process.on('warning',w=>console.log(w.name,w.message,w.count));const m=new EE();for(let i=0;i<12;i++)m.on('leak',()=>{});
(async()=>{setTimeout(()=>e.emit('go',7,8),1);console.log(await once(e,'go'));setTimeout(()=>e.emit('error',new Error('oe')),1);try{await once(e,'zz')}catch(x){console.log('rej',x.message)}
const ac=new AbortController();setTimeout(()=>ac.abort(),1);try{await once(e,'never',{signal:ac.signal})}catch(x){console.log(x.name,x.code,x.message)}
setTimeout(()=>{e.emit('it',1);e.emit('it',2);},1);let n=0;for await(const v of on(e,'it')){console.log(v);if(++n==2)break}
const et=new EventTarget();et.addEventListener('x',ev=>console.log(ev.type,ev.detail,ev.target===et,ev instanceof CustomEvent),{once:true});et.dispatchEvent(new CustomEvent('x',{detail:3}));et.dispatchEvent(new CustomEvent('x'));const ev=new Event('c',{cancelable:true});et.addEventListener('c',e=>e.preventDefault());console.log(et.dispatchEvent(ev),ev.defaultPrevented);
et.addEventListener('h',{handleEvent(e){console.log('he',e.type)}});et.dispatchEvent(new Event('h'));setTimeout(()=>et.dispatchEvent(new Event('once')),1);console.log((await once(et,'once'))[0].type);
class C extends EE{constructor(){super({captureRejections:true})}};const c=new C();c.on('r',async()=>{throw new Error('captured')});c.on('error',e=>console.log('err',e.message));c.emit('r');
})();
t(()=>new EE()); t(()=>{class My extends EE{};return new My()}); t(()=>EE.listenerCount(e,'x')); t(()=>EE.getEventListeners?.(e,'x')); t(()=>new Event()); t(()=>{const a=AbortSignal.abort();return [a.aborted,a.reason.name,a.reason.message,a.reason.code]}); t(()=>AbortSignal.abort('r').throwIfAborted()); t(()=>{const ac=new AbortController();ac.signal.onabort=()=>console.log('onabort');ac.abort(new Error('why'));return ac.signal.reason.message}); t(()=>new AbortSignal()); t(()=>AbortSignal.any([AbortSignal.abort(1)]).reason);
