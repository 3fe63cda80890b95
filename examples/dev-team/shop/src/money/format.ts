/** Between thousands. */
export const SEPARATOR = ",";
/** Digits behind the point. */
export const DIGITS = 2;
