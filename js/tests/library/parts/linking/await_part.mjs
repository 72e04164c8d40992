export class K { name = 'a K'; async later() { return await 'later'; } }
export const value = await Promise.resolve('value');
