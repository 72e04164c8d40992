import { note } from './names.mjs'
const before = 'x'
export default class {}
(note)('after a class')
const after = before
export { after }
export * from './more.mjs'
;[1].forEach(() => note('after export star'))
