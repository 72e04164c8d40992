export const both = 2; export const two = 2; export const own = 'theirs';
