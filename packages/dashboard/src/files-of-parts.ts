/** JSON. In the page as it is built it is the list of its files: see `parts-of-pages.ts`. */
export const FILES_OF_PARTS = '{ "builtBy": "parts-of-pages.ts" }';

/** Files of each part, as indexes: its code, what that imports, its sheets. */
interface Built {
  readonly files: readonly string[];
  readonly parts: Readonly<Record<string, readonly number[]>>;
}

const BUILT = JSON.parse(FILES_OF_PARTS) as Partial<Built>;

/** Addresses of all that a part needs. None while the page is made: Vite serves its modules. */
export function filesOf(part: string): string[] {
  const { files, parts } = BUILT;
  if (files === undefined || parts === undefined) return [];
  const own = parts[part];
  if (own === undefined) throw new Error(`This page has no part named ${part}.`);

  return own.map((index) => `/${files[index]!}`);
}
