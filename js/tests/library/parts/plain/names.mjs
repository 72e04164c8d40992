// no semicolons here
export const list = []
export function note(text) {
  list.push(text)
  return note
}
export default function /* ( */ () { return 'default' }
export function* steps() { yield 1 }
