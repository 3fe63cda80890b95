/**
 * What a terminal obeys instead of showing it: C0 and DEL (without tab and line feed), C1, the line
 * and paragraph separators, and the characters that change the direction of what follows. Source:
 * ECMA-48; Unicode UAX #9, table 1.
 */
const COMMANDS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const CARRIAGE_RETURN_LINE_FEED = /\r\n/g;

/**
 * Foreign text as a terminal may show it: what it would obey is written out, such as `\\x1b`. Pure.
 */
export function harmless(text: string): string {
  return text.replace(CARRIAGE_RETURN_LINE_FEED, "\n").replace(COMMANDS, writtenOut);
}

/**
 * One line of JSON in which every such character is escaped; reading it gives the same value. Pure.
 */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replace(COMMANDS, (char) => `\\u${hex(char, 4)}`);
}

function writtenOut(char: string): string {
  return char.charCodeAt(0) <= 0xff ? `\\x${hex(char, 2)}` : `\\u${hex(char, 4)}`;
}

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, "0");
}
