/** A file that a tool gives: its name, as it likes, and its bytes. The type is what these say. */
export interface GivenFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Marks a result in every copy of dure that a process may have. No JSON has a symbol. */
const FILES: unique symbol = Symbol.for("dure.files") as never;

/** A result with files, as {@link fileResult} makes it. As JSON it is its plain value. */
export interface FileResult<Value> {
  readonly [FILES]: readonly GivenFile[];
  toJSON(): Value;
}

/** What is recorded of a result: of one with files the plain value. */
export type PlainResult<Output> = Output extends FileResult<infer Value> ? Value : Output;

/**
 * A result of a tool with files: they are stored with the session, told to the model, and shown to
 * the person with the answer.
 *
 *     execute: async ({ month }, _context, { signal }) => {
 *       const bytes = await books.pdf(month, { signal });
 *       return fileResult({ total: 12 }, [{ name: `report-${month}.pdf`, bytes }]);
 *     },
 *
 * A file that cannot be kept is told as a line and loses no result.
 */
export function fileResult<Value>(value: Value, files: readonly GivenFile[]): FileResult<Value> {
  return { [FILES]: files, toJSON: () => value };
}

/** The files of a result that {@link fileResult} has made; of every other one none. Pure. */
export function filesOfResult(result: unknown): readonly GivenFile[] {
  if (typeof result !== "object" || result === null) return [];
  return (result as Partial<FileResult<unknown>>)[FILES] ?? [];
}
