// SPDX-License-Identifier: MIT
// path: what Node 20 prints.
const path=require('path');const t=(f)=>{try{console.log(JSON.stringify(f()))}catch(e){console.log(e.name,e.code,e.message)}};
for(const a of [['a','b'],['/a','..','b'],['','a'],['a','','..','..','c'],['/'],[''],[],['./a/','/b/'],['a//b','../c/.'],['..','..','x']])t(()=>[path.join(...a),path.resolve('/base',...a)]);
for(const p of ['/a/b.txt','a','/','','a/b/','.bashrc','a.b.c','a.','..','/a/b/c.tar.gz','//x//y','a/.b','./','/a/../b/./c//d','a/b/../../..','x/./'])t(()=>[path.dirname(p),path.basename(p),path.extname(p),path.normalize(p),path.isAbsolute(p),path.parse(p)]);
t(()=>path.basename('/a/b.txt','.txt'));
t(()=>path.basename('b.txt','b.txt'));
t(()=>path.basename('a.html','html'));
t(()=>path.relative('/a/b/c','/a/d'));
t(()=>path.relative('/a','/a'));
t(()=>path.relative('/a/b','/'));
t(()=>path.relative('/','/x/y'));
t(()=>path.relative('/foo','/foobar'));
t(()=>path.format({dir:'/x',base:'y.z'}));
t(()=>path.format({root:'/',name:'a',ext:'.b'}));
t(()=>path.format({name:'a',ext:'b'}));
t(()=>path.sep+path.delimiter);
t(()=>path.join(5));
t(()=>path.basename());
t(()=>path.format(null));
t(()=>path.posix===path);
t(()=>path.toNamespacedPath('/x'));
