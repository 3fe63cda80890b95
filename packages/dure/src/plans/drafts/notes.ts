/** Questions of one draft. Source: docs/spec/plans §2. */
export const MAX_QUESTIONS = 3;
/** Things that a draft says it left open. */
const MAX_OPEN = 10;
/** Characters of one note. */
const MAX_NOTE = 400;

/** What a draft says beside the plan, in comments at its top. */
export interface DraftNotes {
  /** What a person could answer, with what was assumed. At most 3. */
  readonly questions: readonly string[];
  /** What the draft could not know or did not settle. */
  readonly open: readonly string[];
}

const NOTE = /^#[ \t]*(question|open):[ \t]*(\S.*)$/gim;

/** Reads `# question: …` and `# open: …` from the text of a plan. Pure. */
export function notesIn(text: string): DraftNotes {
  const found = [...text.matchAll(NOTE)].map(([, kind, words]) => ({
    kind: kind!.toLowerCase(),
    words: words!.trim().slice(0, MAX_NOTE),
  }));
  const of = (wanted: string): string[] => [
    ...new Set(found.filter(({ kind }) => kind === wanted).map(({ words }) => words)),
  ];

  return {
    questions: of("question").slice(0, MAX_QUESTIONS),
    open: of("open").slice(0, MAX_OPEN),
  };
}

/** The text without its notes, which stand beside it then. Pure. */
export function withoutNotes(text: string): string {
  return text.replace(/^#[ \t]*(?:question|open):[^\n]*(?:\n|$)/gim, "");
}

/** A text with more notes above it. Pure. */
export function withOpen(text: string, open: readonly string[]): string {
  return `${open.map((words) => `# open: ${words}\n`).join("")}${text}`;
}
