import { DureError } from "../kernel/errors.ts";

/**
 * A part of a list. `nextCursor`: where the next one goes on; null behind the
 * last.
 */
export interface RowPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** How many items a page has by default, and at most. */
export interface PageSize {
  readonly usual: number;
  readonly most: number;
}

export function pageLimit(asked: number | undefined, { usual, most }: PageSize): number {
  return Math.min(Math.max(asked ?? usual, 1), most);
}

/**
 * A page of rows of which one more was asked for than it holds. The cursor
 * names the last row of the page by the values that order the list: the next
 * page goes on behind it, whether or not it is still there. Pure.
 */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  orderOf: (row: Row) => readonly (string | number)[],
): RowPage<Row> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last === undefined ? null : cursorOf(orderOf(last)) };
}

/**
 * The values of a cursor, as text; undefined without one. Throws
 * `CURSOR_INVALID` for a text that no list of this `shape` has given out.
 *
 * @param shape a group per value, with "/" between them; the whole text
 */
export function readCursor(
  cursor: string | undefined,
  shape: RegExp,
): readonly string[] | undefined {
  if (cursor === undefined) return undefined;

  const text = Buffer.from(cursor, "base64url").toString();
  // Lists of older releases have given out the values as they are.
  const [, ...values] = shape.exec(text) ?? shape.exec(cursor) ?? [];
  if (values.length > 0 && !values.some((value) => value.includes("\0"))) return values;

  throw new DureError("CURSOR_INVALID", `"${cursor}" is no cursor of this list.`, {
    class: "input",
    hint: "Give back next_cursor as it was, or leave it out.",
  });
}

function cursorOf(values: readonly (string | number)[]): string {
  return Buffer.from(values.join("/")).toString("base64url");
}
