console.log('fine runs'); export const fine = 1;
