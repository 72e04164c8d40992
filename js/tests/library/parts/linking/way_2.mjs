export { one as same } from './star_1.mjs';
