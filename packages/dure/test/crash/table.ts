export type Row = Readonly<Record<string, string | number>>;

/** Prints rows as plain lines, each column as wide as its widest cell. */
export function printTable(title: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
  process.stdout.write(`\n${title}\n${text.join("\n")}\n`);
}

/** Least, middle and most of a column of numbers, in words; empty where there are none. */
export function spread(rows: readonly Row[], column: string): string {
  const values = rows
    .flatMap((row) => (typeof row[column] === "number" ? [row[column]] : []))
    .sort((a, b) => a - b);
  if (values.length === 0) return "";
  return (
    `${column}: least ${values[0]}, median ${values[Math.floor(values.length / 2)]}, most ` +
    `${values.at(-1)}`
  );
}
