/** What the terminal says of itself; a command that reads no settings needs nothing else. */

/**
 * Whether `name` is set to something. For conventions of the terminal, such as NO_COLOR, that are
 * no setting.
 */
export function isSet(name: string): boolean {
  return (process.env[name] ?? "") !== "";
}

/**
 * The language of the terminal as POSIX decides it, such as `ko_KR.UTF-8`: the first of its three
 * variables that is set to something. Source: POSIX.1-2024, XBD 8.2.
 */
export function terminalLocale(
  source: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return source["LC_ALL"] || source["LC_MESSAGES"] || source["LANG"] || "";
}
