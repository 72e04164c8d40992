// SPDX-License-Identifier: MIT
// Texts, keys and lists that util.inspect shows in short ways or long ones; isAscii and isUtf8 across steps of eight bytes.
'use strict';
const u = require('node:util');
const b = require('node:buffer');
console.log(u.inspect({a:'x',"it's":1,'b-c':"it's",'\u00e9':'é\n',_x1:[1,2,3],'1a':'\\',s:'long '.repeat(30),t:'two\nlines '.repeat(10),'':0,'ß':'\x7f', w:Array.from({length:30},(_,i)=>'w'+i), z:['日本','x','y','z','zz','zzz','zzzz']}));
console.log(b.isAscii(Buffer.from('abcdefgh1é')),b.isAscii(Buffer.from('abcdefgh12')),b.isUtf8(Buffer.from('abcdefgh1é')),b.isUtf8(Buffer.from([97,98,99,97,98,99,97,98,0xe9])), b.isAscii(new Uint8Array(0)), b.isAscii(new Uint16Array([200])));
