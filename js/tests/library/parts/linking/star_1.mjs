export const both = 1; export const one = 1; export default 1;
