/** JSON. In the page as it is built it is the list of its files: see `parts-of-pages.ts`. */
export const FILES_OF_PARTS = '{ "builtBy": "parts-of-pages.ts" }';

/** Files of the parts of a page that are fetched when they are needed. */
export interface BuiltParts {
  readonly files: readonly string[];
  /** Of each file what it needs itself, by index: code that it imports, and sheets. */
  readonly needs: readonly (readonly number[])[];
  /** With which file each part begins. */
  readonly parts: Readonly<Record<string, number>>;
}

const BUILT = JSON.parse(FILES_OF_PARTS) as Partial<BuiltParts>;

/** Addresses of all that a part needs. None while the page is made: Vite serves its modules. */
export function filesOf(part: string): string[] {
  const { files, needs, parts } = BUILT;
  if (!files || !needs || !parts) return [];
  const begin = parts[part];
  if (begin === undefined) throw new Error(`This page has no part named ${part}.`);

  const found = new Set([begin]); // it grows while it is walked
  for (const index of found) for (const needed of needs[index] ?? []) found.add(needed);

  return [...found].map((index) => `/${files[index]!}`);
}
