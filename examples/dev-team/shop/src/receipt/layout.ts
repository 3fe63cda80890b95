/** Of the paper. */
export const COLUMNS = 40;
