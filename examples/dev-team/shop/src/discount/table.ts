/** From this total on, in cents, this share in percent. The owner edits it; its order means nothing. */
export const TABLE = [
  { from: 10_000, share: 5 },
  { from: 100_000, share: 20 },
  { from: 50_000, share: 10 },
] as const;
