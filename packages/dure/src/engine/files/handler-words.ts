import type { Problem } from "./load-service-document.ts";
import { closingOf, positionAt } from "./load-service-scan.ts";
import type { Region } from "./load-service-check.ts";

/**
 * What `dure check` finds in the words of flows: the person's own message, added once more by hand,
 * and texts for people that are written into a flow.
 */

// --- the person's message, twice

/** The name of a turn, or of an agent's context, and what stands behind it where it adds the message. */
const ADDERS: readonly RegExp[] = [
  // memory.addUserMessage(…), memory.add_user(…), rawHistory.push(…)
  /\.\s*(?:add|append|push)_?[uU]ser(?:_?(?:[mM]essage|[tT]urn))?\s*\(/gu,
  /\brawHistory\s*\.\s*(?:push|unshift)\s*\(/gu,
  // turn.remember(turn.message), updateMemory(turn, turn.message): kept as the answer
  /(?<![\w$.])([\w$]+)\s*\.\s*remember\s*\(\s*\1\s*\.\s*message\s*\)/gu,
  /(?<![\w$.])updateMemory\s*\(\s*([\w$]+)\s*,\s*\1\s*\.\s*message\s*\)/gu,
];

/** Finds where a flow adds the person's message that the engine adds itself. Pure. */
export function repeatedMessages(region: Region, code: string): Problem[] {
  const added = ADDERS.flatMap((pattern) => [...code.matchAll(pattern)]);
  return [...added, ...messagesAsContext(code)].map((match) => repeated(region, match, match[0]));
}

/** `turn.agent(…, { context: turn.message })`: the model reads it above its question too. */
function messagesAsContext(code: string): RegExpMatchArray[] {
  const turns = new Set([...code.matchAll(RUNS_AGENT)].map((match) => match[1] ?? match[2]));
  return [...code.matchAll(/\bcontext\s*:\s*([\w$]+)\s*\.\s*message\s*(?=[,})\s])/gu)].filter(
    (match) => turns.has(match[1]),
  );
}

const RUNS_AGENT =
  /(?<![\w$.])(?:([\w$]+)\s*\.\s*(?:agent|streamAgent)\s*[(<]|(?:runAgent|streamAgentTurn)\s*\(\s*([\w$]+))/gu;

/**
 * Finds a message of the role `user` with the person's words beside those that `buildMessages` gives,
 * which end with them. Looks at a whole file: agents that are code are no handlers. Pure.
 */
export function repeatedInRequests(file: Region): Problem[] {
  const { masked, text } = file.file;
  if (!/\.\s*buildMessages\s*\(/u.test(masked)) return [];

  return [...masked.matchAll(/\brole\s*:/gu)].flatMap((match) => {
    const at = match.index + match[0].length;
    const isUser = /^\s*(["'`])user\1/u.test(text.slice(at, at + 20));
    const member = masked.slice(at, at + 100);
    const isMessage = /^\s*,\s*(?:text|content)\s*:\s*[\w$]+\s*\.\s*message\s*,?\s*\}/u.test(
      member,
    );

    return isUser && isMessage ? [repeated(file, match, 'role: "user"')] : [];
  });
}

function repeated(
  { file, start, name }: Region,
  match: RegExpMatchArray,
  written: string,
): Problem {
  const what = written.replaceAll(/\s+/gu, " ").replace(/^\. ?/u, "").replace(/\($/u, "()").trim();

  return {
    code: "USER_MESSAGE_TWICE",
    file: file.file,
    ...positionAt(file.text, start + match.index!),
    key: name,
    message: `${what} adds the person's message, which the engine adds: it is read twice`,
    hint: "Remove it: the engine adds the message to memory and to what buildMessages() gives",
  };
}

// --- texts for people

/** Files that hold the texts of a service. */
const TEXT_FILE = /(?:^|[/.-])(?:messages?|texts?|words|strings|i18n|locales?)(?:[/.-]|$)/iu;

/** Longest expression of a message that is looked into, characters. */
const LONGEST_MESSAGE = 2_000;

/** Finds texts that a flow says in one language, whatever the session's: they may be meant. Pure. */
export function textsInFlow({ file, start, name }: Region, code: string): Problem[] {
  if (TEXT_FILE.test(file.file)) return [];

  return [...code.matchAll(/(?<![\w$.])message\s*:/gu)].flatMap((match): readonly Problem[] => {
    const from = match.index + match[0].length;
    const end = Math.min(endOfValue(code, from), from + LONGEST_MESSAGE);
    const written = file.text.slice(start + from, start + end);
    const found = literalsIn(written, code.slice(from, end)).find(isForPeople);
    if (found === undefined) return [];

    return [
      {
        code: "TEXT_IN_FLOW",
        level: "warning",
        file: file.file,
        ...positionAt(file.text, start + match.index),
        key: name,
        message: "says a text in one language, whatever the session's is",
        found: JSON.stringify(found.slice(0, 80)),
        hint: "Keep texts by language in a file of their own, such as messages.ts, and choose by turn.locale",
      },
    ];
  });
}

/** Behind the value of a member that begins at `from`. */
function endOfValue(code: string, from: number): number {
  let end = from;
  while (end < code.length && !",;)]}".includes(code[end]!)) {
    end = "([{".includes(code[end]!) ? closingOf(code, end) : end + 1;
  }
  return end;
}

/** The texts of an expression: they are blank in `masked`, and quotes begin and end them. */
function literalsIn(written: string, masked: string): readonly string[] {
  const blanked = [...written.matchAll(/(["'`])((?:\\.|(?!\1)[^\\])*)\1/gsu)];
  return blanked.filter(({ index }) => masked[index] === " ").map(([, , text]) => text!);
}

/** Hangul, two words, or a sentence; not the name of something. */
function isForPeople(text: string): boolean {
  const said = text.replaceAll(/\$\{[^}]*\}/gu, "0");
  return /\p{Script=Hangul}|\p{L}[^\p{L}\n]{0,3} \p{L}|\p{L}[.!?…]$/u.test(said);
}
