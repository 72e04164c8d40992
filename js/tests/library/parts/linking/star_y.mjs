export * from './star_x.mjs'; export const q = 'q'; export default 'default of y';
