export default function () {} export class K {} export const [p, {q}] = [1, {q: 2}];
