/** An agent as people call it. */
export interface Nameable {
  readonly id: string;
  readonly displayName: string;
}

/**
 * The beginning of a mention before the caret: where its `@` stands, and what follows it so far.
 * The wide `＠` is the same sign.
 */
export interface MentionBegun {
  readonly from: number;
  readonly query: string;
}

/** Candidates that are offered at once. */
const MAX_OFFERED = 8;

/**
 * What stands before the caret, if it is a mention that a person is writing; `mina@example` is
 * none. Pure.
 */
export function mentionBegun(text: string, caret: number): MentionBegun | undefined {
  const [, query] =
    /(?:^|[^\p{L}\p{N}\p{M}])[@＠]([\p{L}\p{N}\p{M}_.-]{0,30})$/u.exec(text.slice(0, caret)) ?? [];
  return query === undefined ? undefined : { from: caret - query.length - 1, query };
}

/**
 * Agents that the query may mean: those whose name or id begins with it, then those that hold it.
 * Pure.
 */
export function mentionable<Agent extends Nameable>(
  query: string,
  agents: readonly Agent[],
): readonly Agent[] {
  const wanted = lettersOf(query);
  const rank = ({ id, displayName }: Nameable): number => {
    const names = [displayName, id].map(lettersOf);
    if (names.some((name) => name.startsWith(wanted))) return 0;
    return names.some((name) => name.includes(wanted)) ? 1 : 2;
  };

  return agents
    .map((agent) => ({ agent, rank: rank(agent) }))
    .filter((one) => one.rank < 2)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_OFFERED)
    .map(({ agent }) => agent);
}

/**
 * The text with the mention written out, and where the caret is then. An agent that shares its name
 * is called by its id. Pure.
 */
export function mentionWritten(
  { text, caret, begun }: { text: string; caret: number; begun: MentionBegun },
  agent: Nameable,
  agents: readonly Nameable[],
): { text: string; caret: number } {
  const isShared = agents.some(
    ({ id, displayName }) => id !== agent.id && displayName === agent.displayName,
  );
  const name = isShared ? agent.id : agent.displayName;
  const rest = text.slice(caret);
  const hasSpace = rest.startsWith(" ");
  const head = `${text.slice(0, begun.from)}@${name}${hasSpace ? "" : " "}`;

  return { text: head + rest, caret: head.length + (hasSpace ? 1 : 0) };
}

/**
 * A text in pieces: words, and mentions as their readers see them. `<@id>` stands for every agent,
 * `@name` for those in `mentioned`. Pure.
 */
export function mentionPieces(
  text: string,
  mentioned: readonly string[],
  agents: readonly Nameable[],
): readonly (string | { readonly agent: string; readonly label: string })[] {
  const names = agents
    .filter(({ id }) => mentioned.includes(id))
    .flatMap(({ id, displayName }) => [displayName, id].map((name) => ({ id, name })))
    .toSorted((a, b) => b.name.length - a.name.length);

  const plain = names
    .map(({ name }) => `${escaped(name)}${/[a-z0-9]$/i.test(name) ? "(?![a-z0-9_])" : ""}`)
    .join("|");

  const pattern = new RegExp(
    `<@!?([^\\s<>@]{1,100})>${plain === "" ? "" : `|[@＠](${plain})`}`,
    "giu",
  );

  const pieces: (string | { agent: string; label: string })[] = [];
  let from = 0;

  for (const match of text.matchAll(pattern)) {
    const [whole, id, name] = match;
    const agent =
      id === undefined
        ? names.find((one) => one.name.toLowerCase() === name?.toLowerCase())?.id
        : id;
    const known = agents.find((one) => one.id === agent);
    if (agent === undefined || (id !== undefined && known === undefined)) continue;
    if (match.index > from) pieces.push(text.slice(from, match.index));
    pieces.push({
      agent,
      label: `@${id === undefined ? (name ?? "") : (known?.displayName ?? id)}`,
    });
    from = match.index + whole.length;
  }

  if (from < text.length) pieces.push(text.slice(from));

  return pieces;
}

/** Characters of a message that stand in one line. */
const LINE = 120;

/** A message in one line, without the signs of markdown. Pure. */
export function plainOf(
  { text, mentions }: { readonly text: string; readonly mentions: readonly string[] },
  agents: readonly Nameable[],
  length = LINE,
): string {
  return mentionPieces(text, mentions, agents)
    .map((piece) => (typeof piece === "string" ? piece : piece.label))
    .join("")
    .replaceAll(/\[((?:\\.|[^\\\]]){1,200})\]\([^()\s]{0,300}\)/gu, "$1")
    .replaceAll(/\\(?=[[\]()])|[*`~]+|^\s*(?:[>#-]+|\d+\.)\s/gmu, "")
    .replaceAll(/\s+/gu, " ")
    .slice(0, length);
}

interface TextTree {
  readonly type: string;
  value?: string;
  children?: TextTree[];
  data?: unknown;
}

/**
 * Draws mentions in markdown: a remark plugin. Code keeps its letters, for its nodes are no text.
 */
export function mentionChips(
  mentioned: readonly string[],
  agents: readonly Nameable[],
): () => (tree: TextTree) => void {
  const visit = (node: TextTree): void => {
    node.children = (node.children ?? []).flatMap((child) => {
      if (child.type !== "text") {
        if (child.children) visit(child);
        return [child];
      }
      return mentionPieces(child.value ?? "", mentioned, agents).map((piece): TextTree =>
        typeof piece === "string"
          ? { type: "text", value: piece }
          : {
              type: "mention",
              data: {
                hName: "span",
                hProperties: { className: ["mention"], "data-agent": piece.agent },
              },
              children: [{ type: "text", value: piece.label }],
            },
      );
    });
  };
  return () => (tree) => {
    if (tree.children) visit(tree);
  };
}

/**
 * A name in the letters in which it is typed: `루다` begins with `ㄹ`, with `루` and with `룯`, as an
 * input method shows it in between. Final consonants count as initial ones, so that a syllable may
 * still be open.
 */
export function lettersOf(text: string): string {
  return Array.from(
    text.toLowerCase().normalize("NFD"),
    (letter) => FINALS.get(letter) ?? SINGLE.get(letter) ?? letter,
  ).join("");
}

/** Initial consonants in the order of Unicode, from U+1100; as a keyboard gives them alone. */
const INITIALS = Array.from("ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ");
/**
 * Final consonants in the order of Unicode, from U+11A8, each in the initial ones that it is made
 * of.
 */
const FINAL_LETTERS =
  "ㄱ ㄲ ㄱㅅ ㄴ ㄴㅈ ㄴㅎ ㄷ ㄹ ㄹㄱ ㄹㅁ ㄹㅂ ㄹㅅ ㄹㅌ ㄹㅍ ㄹㅎ ㅁ ㅂ ㅂㅅ ㅅ ㅆ ㅇ ㅈ ㅊ ㅋ ㅌ ㅍ ㅎ".split(
    " ",
  );
const SINGLE: ReadonlyMap<string, string> = new Map(
  INITIALS.map((letter, index) => [letter, String.fromCodePoint(0x1100 + index)]),
);
const FINALS: ReadonlyMap<string, string> = new Map(
  FINAL_LETTERS.map((letters, index) => [
    String.fromCodePoint(0x11a8 + index),
    Array.from(letters, (letter) => SINGLE.get(letter) ?? letter).join(""),
  ]),
);

function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** People besides the reader: some of their names, and how many they are. */
export interface Others {
  readonly names: readonly string[];
  readonly count: number;
}

/** Pure. */
export function othersOf(
  names: readonly string[] | undefined,
  count: number | undefined,
  reader: string | undefined,
): Others {
  const others = (names ?? []).filter((name) => name !== reader);
  return { names: others, count: (count ?? 0) - (names?.length ?? 0) + others.length };
}
