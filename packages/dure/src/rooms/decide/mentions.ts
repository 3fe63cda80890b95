/** Which agents a text names. */

import type { AgentId } from "./role.ts";
import { codeFences } from "../text.ts";

/** The agents that a text names. */
export interface Mentions {
  /** In the order in which the text first names them, each once. */
  readonly agents: readonly AgentId[];
  /** `@everyone` or `@here` stands in the text; it mentions no agent. */
  readonly everyone: boolean;
}

/** An agent as a text may name it; its id always counts as a name. */
export interface MentionableAgent {
  readonly agent: AgentId;
  /** Such as its display name and its account's. */
  readonly names: readonly string[];
}

/** The names of a directory, ready to be looked for. Made once by `mentionDirectory`. */
export interface MentionDirectory {
  readonly byName: ReadonlyMap<string, AgentId | typeof EVERYONE>;
  /** Lengths of the names in UTF-16 units, longest first. */
  readonly lengths: readonly number[];
}

const EVERYONE = Symbol("everyone");

/**
 * How many places in a text that look like a mention are looked at. Bounds the work, and what one
 * message can wake.
 */
const MAX_MENTIONS = 500;

/**
 * Finds `<@agent-id>`, `@agent-id` and `@name` in any script; the wide `＠` is the same sign. ASCII
 * letter case does not count, nor do the composition of Unicode, invisible characters and the kind
 * of space within a name.
 *
 * - Before `@` stands no letter or digit, so an e-mail address is none; after the name ends the
 *   word, or a Korean honorific and particle end it (`@루다가`, `@세움님께서`), or letters that stand alone
 *   (`@루다ㅋㅋ`). `@루다인`, `@ruda-bot`, `@ruda/pkg` and `@ruda.com` are others' names.
 * - The longest name wins: with agents 이든 and 이든이, `@이든이` and `@이든이가` are 이든이; without 이든이 they are
 *   이든. Of equal names an id comes first, then the agent that is listed first.
 * - Who is taken back where another agent is named is none: `@루다 말고 @이든`, `@eden, not @ruda`.
 * - In a code block, inline code, a quotation or an address of the web no agent is mentioned. An
 *   invisible character right after `@` takes the mention back (`neutralize`).
 *
 * Pure, and linear in the length of the text.
 */
export function findMentions(text: string, directory: MentionDirectory): Mentions {
  const agents = new Set<AgentId>();
  const takenBack = new Set<AgentId>();
  let everyone = false;
  if (!/[@＠]/.test(text)) return { agents: [], everyone };

  const prose = proseOf(text).replaceAll("＠", "@");
  let looked = 0;
  let endsAtNext = false; // `@루다@이든`: the name before ended right at this @
  for (
    let at = prose.indexOf("@");
    at >= 0 && looked < MAX_MENTIONS;
    at = prose.indexOf("@", at + 1)
  ) {
    if (!endsAtNext && /[\p{L}\p{N}\p{M}]$/u.test(prose.slice(Math.max(0, at - 2), at))) continue;
    looked++;
    const named = nameAfter(prose, at + 1, directory);
    endsAtNext = named?.isBeforeAt ?? false;
    if (!named) continue;
    if (named.who === EVERYONE) everyone = true;
    else (isTakenBack(prose, at, named.rest) ? takenBack : agents).add(named.who);
  }
  return { agents: [...(agents.size > 0 ? agents : takenBack)], everyone };
}

/** Whether a text says of an agent, by its bare name or a mention, that it is not meant. Pure. */
export function takesBack(text: string, agent: AgentId, { byName }: MentionDirectory): boolean {
  const prose = comparable(proseOf(text.slice(0, MAX_CALL)));
  return Array.from(byName).some(([name, who]) => {
    if (who !== agent) return false;
    for (let at = prose.indexOf(name); at >= 0; at = prose.indexOf(name, at + 1)) {
      const rest = prose.slice(at + name.length);
      const isWord = !/[\p{L}\p{N}]$/u.test(prose.slice(0, at)) && !/^[a-z0-9]/u.test(rest);
      if (isWord && isTakenBack(prose, at, rest)) return true;
    }
    return false;
  });
}

/** What stands before a name and behind it says that another one is meant. */
function isTakenBack(text: string, at: number, rest: string): boolean {
  return TAKEN_BACK.test(rest) || TAKING_BACK.test(text.slice(Math.max(0, at - 20), at));
}

const TAKEN_BACK = /^>? ?(?:말고|아니고|아니라|대신)/u;
const TAKING_BACK = /(?<!\bwhy )\b(?:not|instead of|rather than) [@<]*$/iu;

/**
 * The agent that a text calls by its bare name before anything else: `세움아, …`, `이든님 …`, `Eden: …`.
 * A name with another particle is only spoken of. Pure.
 */
export function calledFirst(text: string, directory: MentionDirectory): AgentId | undefined {
  const begun = text.trimStart().slice(0, WINDOW);
  const folded = comparable(begun);
  for (const length of directory.lengths) {
    const agent = directory.byName.get(folded.slice(0, length));
    if (agent === undefined || agent === EVERYONE) continue;
    if (isCalled(folded.slice(length))) return agent;
  }
  return undefined;
}

/** Whether what follows a name at the beginning of a text makes it a call. Pure. */
export function isCalled(rest: string): boolean {
  return CALLED.test(rest);
}

/** A particle of calling, or a sign that ends a call. */
const CALLED = /^(?:(?:아|야|이야|님|님아|씨|군|양)(?=[\s,，:：!?~.…]|$)|[,，:：])/u;

/**
 * The agent whose name follows the `@` at `at`, by the same rules; undefined where it is no agent's
 * name, or the beginning of a longer one.
 */
export function namedAt(
  text: string,
  at: number,
  directory: MentionDirectory,
): AgentId | undefined {
  const named = nameAfter(text, at + 1, directory)?.who;
  return named === EVERYONE ? undefined : named;
}

export function mentionDirectory(agents: readonly MentionableAgent[]): MentionDirectory {
  const byName = new Map<string, AgentId | typeof EVERYONE>([
    ["everyone", EVERYONE],
    ["here", EVERYONE],
  ]);
  const named = [
    ...agents.map(({ agent }) => [agent, agent] as const),
    ...agents.flatMap(({ agent, names }) => names.map((name) => [name, agent] as const)),
  ];
  for (const [name, agent] of named) {
    const key = comparable(name.trim().slice(0, WINDOW)).slice(0, LONGEST_NAME);
    if (key !== "" && !byName.has(key)) byName.set(key, agent);
  }
  return {
    byName,
    lengths: [...new Set(Array.from(byName.keys(), (name) => name.length))].sort((a, b) => b - a),
  };
}

/** `<@agent-id>` as `@display name`; an id that `nameOf` does not know stays as it is. */
export function renderMentions(
  text: string,
  nameOf: (agent: AgentId) => string | undefined,
): string {
  return text.replace(/<@!?([^\s<>@]{1,100})>/gu, (mention, agent: string) => {
    const name = nameOf(agent);
    return name === undefined ? mention : `@${name}`;
  });
}

/** Characters of a message that is looked through for what calls an agent; a yes is shorter. */
const MAX_CALL = 500;
/** Words that the name of an agent has at most, to be left out with its call. */
const MAX_NAME_WORDS = 6;

/** What a person says to the agents that a short message calls: `@루다 네` says `네`. Pure. */
export function withoutCalls(text: string, directory: MentionDirectory): string {
  if (text.length > MAX_CALL) return text;
  let words = text.trim().split(/\s+/u);
  for (let count = wordsOfCall(words, directory); count > 0;) {
    words = words.slice(count);
    count = wordsOfCall(words, directory);
  }
  const last = words.at(-1) ?? "";
  const isCall = CALL.test(last) && findMentions(last, directory).agents.length > 0;
  return (isCall ? words.slice(0, -1) : words).join(" ");
}

const CALL = /^<?[@＠]/u;

/** How many of the first words are the name of an agent that is called. */
function wordsOfCall(words: readonly string[], directory: MentionDirectory): number {
  if (!CALL.test(words[0] ?? "")) return 0;
  const calls = (count: number): AgentId | undefined =>
    findMentions(words.slice(0, count).join(" "), directory).agents[0];
  const called = calls(words.length);
  const counts = Array.from({ length: Math.min(words.length, MAX_NAME_WORDS) }, (_, at) => at + 1);
  return (called !== undefined && counts.find((count) => calls(count) === called)) || 0;
}

/**
 * `@everyone` and `@here` with a zero-width space, so that no platform rings for them; to a person
 * they look the same.
 */
export function neutralize(text: string): string {
  return text.replace(/@(?=everyone|here)/giu, "@\u200b");
}

/** UTF-16 units. */
const LONGEST_NAME = 100;

/**
 * What is compared of the text after `@`: several times what a name can need, for decomposed
 * letters and invisible signs.
 */
const WINDOW = 512;

/**
 * The text without code, quotations and addresses of the web; a space or line end stands where they
 * were.
 */
function proseOf(text: string): string {
  let prose = "";
  let from = 0;
  for (const fence of codeFences(text)) {
    prose += `${text.slice(from, fence.from)}\n\n`;
    from = fence.to;
  }
  prose += text.slice(from);

  const unquoted: string[] = [];
  for (const line of prose.split("\n")) {
    if (line.startsWith(">>> ")) break; // quotes all that follows, as chats have it
    unquoted.push(/^ {0,3}>/u.test(line) ? "" : line);
  }
  const paragraphs = unquoted.join("\n").split(/\n[^\S\n]*\n/u);
  return paragraphs
    .map(withoutInlineCode)
    .join("\n\n")
    .replace(/\bhttps?:\/\/[^\s<>()"'`]+/giu, " ");
}

/**
 * A run of backticks opens code that the next run of the same length closes; one that nothing
 * closes is text.
 */
function withoutInlineCode(paragraph: string): string {
  const runs = Array.from(paragraph.matchAll(/`+/gu), (match) => ({
    from: match.index,
    length: match[0].length,
  }));
  if (runs.length === 0) return paragraph;

  const closing: number[] = [];
  const nextOfLength = new Map<number, number>();
  for (let index = runs.length - 1; index >= 0; index--) {
    const length = runs[index]?.length ?? 0;
    closing[index] = nextOfLength.get(length) ?? -1;
    nextOfLength.set(length, index);
  }

  let prose = "";
  let from = 0;
  for (let index = 0; index < runs.length; index++) {
    const open = runs[index];
    const close = runs[closing[index] ?? -1];
    if (!open || !close) continue;
    prose += `${paragraph.slice(from, open.from)} `;
    from = close.from + close.length;
    index = closing[index] ?? index;
  }
  return prose + paragraph.slice(from);
}

function nameAfter(
  text: string,
  from: number,
  directory: MentionDirectory,
): { who: AgentId | typeof EVERYONE; isBeforeAt: boolean; rest: string } | undefined {
  const raw = text.slice(from, from + WINDOW);
  if (/^(?:\p{Default_Ignorable_Code_Point}|\s)/u.test(raw)) return undefined;

  const isPlatforms = text[from - 2] === "<";
  const window = comparable(isPlatforms ? raw.replace(/^!/u, "") : raw);
  for (const length of directory.lengths) {
    if (length > window.length) continue;
    const who = directory.byName.get(window.slice(0, length));
    if (who === undefined) continue;
    const end = endOfWord(window, length);
    const isCutOff = end === window.length && from + WINDOW < text.length;
    if (end === undefined || isCutOff) continue;
    return { who, isBeforeAt: window[end] === "@", rest: window.slice(end, end + 20) };
  }
  return undefined;
}

/**
 * Where a name of `length` ends with what may hang on it; undefined when it is the beginning of
 * another word.
 */
function endOfWord(window: string, length: number): number | undefined {
  const rest =
    /^(?:(?![ㄱ-ㆎ])[\p{L}\p{N}\p{M}])*/u.exec(
      window.slice(length, length + LONGEST_SUFFIX + 1),
    )?.[0] ?? "";
  if (rest !== "" && !SUFFIXES.has(withoutDrawl(rest))) return undefined;
  const end = length + rest.length;
  return /^(?:(?:-|_+)[\p{L}\p{N}]|[./][a-z0-9])/u.test(window.slice(end, end + 8))
    ? undefined
    : end;
}

/** `야아아` as `야`: people draw a call out. */
function withoutDrawl(suffix: string): string {
  return suffix.replace(/(?<=[야아])아+$/u, "");
}

function comparable(text: string): string {
  return text
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .replace(/[^\S\n]+/gu, " ")
    .normalize("NFC")
    .replace(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}

/**
 * What Korean hangs on a name: an honorific (or the 이 of names that end in a consonant), a
 * particle or an ending of 이다, a second particle.
 */
const HONORIFICS = ["", ..."님 씨 이 쌤 샘 님들 선배 선배님 군 양 형 누나 언니 오빠".split(" ")];
const PARTICLES = [
  ..."이 가 은 는 을 를 도 두 만 의 나 이나 야 아 요 이요 라도 이라도 마저 조차 마다".split(" "),
  ..."께선 으론 더러 보고 밖에 대로 네 꺼 예요 이에요 입니다 아니면".split(" "),
  ..."니까 이니까 인데 라면 이라면 라고 이라고 인가 인가요".split(" "),
];
const PARTICLES_THAT_TAKE_ANOTHER =
  "에게 에게서 한테 한테서 께 께서 와 과 랑 이랑 하고 로 으로 부터 까지 보다 처럼 같이 만".split(
    " ",
  );
const SECOND_PARTICLES = ["", "는", "은", "도", "만", "의", "요"];
const SUFFIXES: ReadonlySet<string> = new Set(
  HONORIFICS.flatMap((honorific) =>
    [
      "",
      ...PARTICLES,
      "에겐",
      "한텐",
      "만이",
      "만은",
      "만을",
      ...PARTICLES_THAT_TAKE_ANOTHER.flatMap((particle) =>
        SECOND_PARTICLES.map((second) => particle + second),
      ),
    ].map((particle) => honorific + particle),
  ),
);
const LONGEST_SUFFIX = Math.max(...Array.from(SUFFIXES, (suffix) => suffix.length));
