// SPDX-License-Identifier: MIT
// Modules in the style without semicolons: what is put in the place of a name, an await or an import must not join two lines.
import { list, note } from './parts/plain/names.mjs'
import name from './parts/plain/names.mjs'
import Kinds, { after, more } from './parts/plain/kinds.mjs'
import * as all from './parts/plain/more.mjs'

const a = 1
note('one')
const b = a
note`template`
const c = [b]
note('chain')('chain again')
if (c.length)
  note('in if')
else note('in else')
for (const one of c) note(`for ${one}`)
do note('do')
while (false)
note('after do')
label: note('label')
switch (a) {
  case 1:
    note('case')
    const d = 2
    note('case again')
  default: note('default')
}
const f = () => note
note('after arrow')
let g = a
await null, note('sequence')
g = b
await
  note('await on two lines')
const h = g
await Promise.resolve(h) === 1 ? note('question') : note('colon')
function inner() {
  'use strict'
  note('inner')
  const x = { note }
  note('shorthand')
  return x
}
inner()
class K {
  static { const y = 1
    note('static block')
    void y }
  field = note
}
const i = new K()
import('./parts/plain/more.mjs')
  .then((found) => { globalThis.found = found.more })
const j = i
import.meta.url
note('after meta')
console.log(list.map(String).join('\n'), name(), typeof Kinds, after, more, typeof j.field, typeof f, await all.default(7))
export default j
note('after default')
console.log(list.length)
