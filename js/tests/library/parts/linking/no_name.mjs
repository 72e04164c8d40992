import { nothing } from './fine.mjs'; console.log(nothing);
