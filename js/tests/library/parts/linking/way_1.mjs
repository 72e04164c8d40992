import { one } from './star_1.mjs'; export { one as same };
