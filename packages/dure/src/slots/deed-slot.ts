/** The slot that says which of several deeds is meant. */
export const DEED_SLOT = "deed";
