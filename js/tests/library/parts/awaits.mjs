await null;
export const a = 1;
