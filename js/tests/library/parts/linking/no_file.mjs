import './fine.mjs'; import './there_is_none.mjs';
