export default function hello() { return 'hi'; }
export const named = 1;
export let live = 0;
export const more = () => ++live;
