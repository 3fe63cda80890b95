import { z } from "zod";

const MAX_COMMAND = 4_000;

/**
 * Stands in names of branches, folders and addresses, so nothing that git or a shell reads
 * otherwise.
 */
const ID_WORDS = "must be 1 to 64 Latin letters, digits, _ or -, beginning with a letter or digit";
export const id = z
  .string({ error: ID_WORDS })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, { error: ID_WORDS });

export const line = (longest: number, what: string) =>
  z
    .string({ error: `must be ${what}` })
    .trim()
    .min(1, { error: `must be ${what} that is not empty` })
    .max(longest, { error: `must be ${what} of at most ${longest} characters` });
export const command = line(MAX_COMMAND, "a shell command");
