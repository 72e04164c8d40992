export * from './names.cjs'; export const a = 0; export const z = 3;
