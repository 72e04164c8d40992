export let x = 1; export function inc() { x++; } export default () => 'default of b'; export const obj = { a: 1 };
