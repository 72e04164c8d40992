export const more = 1
export default async function // ( a comment
/* ( and another */ (x) { return x }
