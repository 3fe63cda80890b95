/** Prints rows as plain lines, each column as wide as its widest cell. */
export function printTable(title: string, rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column])))];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
  process.stdout.write(`\n${title}\n${text.join("\n")}\n`);
}
