export async function go(look, i) {
  const seen = [look()]
  await i
  seen.push(look())
  await (i, undefined)
  seen.push(look())
  const inner = async () => await null
  await inner()
  seen.push(look())
  await [await 1, await await 2][0]
  seen.push(look())
  return seen
}
