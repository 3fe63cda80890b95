import type { Name } from "./team.ts";

/**
 * Where a person speaks: in a channel or alone with an agent, on the web or on the platform beside
 * it, or over HTTP.
 */
export type Where = "web channel" | "web direct" | "channel" | "direct" | "http";

/** One thing that a person says. Its token is in no other one's words. */
export interface Step {
  readonly token: string;
  readonly person: string;
  readonly where: Where;
  readonly channel: "general" | "quiet";
  /** In this order; empty: the agent that answers there anyway. */
  readonly mentions: readonly Name[];
  /** The agent of a direct room or of a session over HTTP. */
  readonly alone: Name;
  readonly deed: "ask" | "hush" | "secret" | "hand over";
  /** Whom it is handed over to. */
  readonly target: Name;
}

export type Random = () => number;

const AGENTS: readonly Name[] = ["ruda", "eden", "seum", "dajim"];
const LEAD: Name = "ruda";
const IN_CHANNELS = ["ask", "ask", "hush", "hand over"] as const;
const ALONE = ["ask", "secret", "hush", "hand over"] as const;
/** Over HTTP an answer is owed: there is no room to be silent in. */
const DEEDS: Readonly<Record<Where, readonly Step["deed"][]>> = {
  "web channel": IN_CHANNELS,
  channel: IN_CHANNELS,
  "web direct": ALONE,
  /** From a platform's direct message no hand-over is taken: see private.test.ts. */
  direct: ["ask", "secret", "hush"],
  http: ["ask", "secret", "hand over"],
};

/** What people of one conversation say, in order; a seed gives the same. Pure. */
export function conversationOf(
  id: string,
  random: Random,
  places: readonly Where[],
): readonly Step[] {
  const length = 2 + Math.floor(random() * 5);
  return Array.from({ length }, (_, index) =>
    stepOf({ token: `${id}.${index}.`, person: `사람${id.replaceAll(".", "-")}` }, random, places),
  );
}

/** Who must answer it. Pure. */
export function answerersOf({ where, mentions, alone }: Step): readonly Name[] {
  if (!where.endsWith("channel")) return [alone];
  return mentions.length > 0 ? mentions : [LEAD];
}

/** The words; what only the two may know stands behind `비밀`. Pure. */
export function wordsOf(step: Step, nameOf: (agent: Name) => string): string {
  const called = step.where.endsWith("channel")
    ? step.mentions.map((agent) => `@${nameOf(agent)} `).join("")
    : "";
  switch (step.deed) {
    case "ask":
      return `${called}어떻게 생각해? #${step.token}`;
    case "hush":
      return `${called}쉿 #${step.token}`;
    case "secret":
      return `${called}우리만 알자: ${secretOf(step)} #${step.token}`;
    case "hand over":
      return `${called}맡겨 ${step.target} #${step.token}`;
    default:
      return step.deed satisfies never;
  }
}

export function secretOf({ token }: Step): string {
  return `비밀${token.replaceAll(".", "x")}`;
}

function stepOf(
  own: { token: string; person: string },
  random: Random,
  places: readonly Where[],
): Step {
  const where = oneOf(places, random);
  const isChannel = where.endsWith("channel");
  const deed = oneOf(DEEDS[where], random);
  const most = deed === "hand over" ? 1 : 2;
  const mentions = shuffled(AGENTS, random).slice(0, Math.floor(random() * (most + 1)));
  const alone = oneOf(AGENTS, random);
  const asker = isChannel ? (mentions[0] ?? LEAD) : alone;
  const target = oneOf(
    AGENTS.filter((agent) => agent !== asker),
    random,
  );
  const channel = random() < 0.2 ? "quiet" : "general";
  return { ...own, where, channel, mentions, alone, deed, target };
}

function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  return list
    .map((item) => [random(), item] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, item]) => item);
}

export function oneOf<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!;
}
