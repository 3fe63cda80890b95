/** A regular expression in several lines: ends of lines and the spaces after them do not count. */
export function pattern(strings: TemplateStringsArray, ...values: readonly string[]): RegExp {
  return new RegExp(source(strings, ...values), "u");
}

/** The source of a part of one. */
export function source(strings: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw(strings, ...values).replaceAll(/\n\s*/gu, "");
}

/** Whether one of the patterns is in a sentence. */
export function has(patterns: readonly RegExp[], line: string): boolean {
  return patterns.some((pattern) => pattern.test(line));
}
