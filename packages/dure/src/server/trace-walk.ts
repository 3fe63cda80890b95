import type { Json } from "../kernel/json.ts";
import type { RowPage } from "../durable/page.ts";
import type { TenantView } from "../kernel/tenant.ts";
import type { ListedKind, TraceKind, TraceState, TraceStepKind } from "../kernel/traces.ts";

/** One thing that is stored, with what decides who may know of it. */
export interface TracedThing {
  readonly id: string;
  readonly kind: TraceKind;
  readonly title: string;
  readonly who: string;
  readonly status: string;
  readonly at: number;
  readonly endedAt: number | null;
  readonly tokens: number | null;
  readonly agents: readonly {
    readonly agent: string;
    readonly elapsedMs: number;
    readonly success: boolean;
  }[];
  readonly tenant: string;
  readonly session: string | null;
  readonly place: string | null;
  readonly job: string | null;
}

/** One step of a turn. */
export interface TraceStep {
  readonly turn: string;
  /** In the turn's journal. */
  readonly place: string;
  /** The place of the step that it is a part of; null: of the turn itself. */
  readonly under: string | null;
  readonly kind: TraceStepKind;
  /** Name of the agent, the tool or the step. */
  readonly title: string;
  readonly status: "done" | "failed" | "running" | "waiting";
  readonly error: string | null;
  readonly at: number;
  readonly endedAt: number | null;
  /** Of a call of a model, as `provider:model`; the rest too. */
  readonly model: string | null;
  readonly attempt: number | null;
  readonly tokensIn: number | null;
  readonly tokensOut: number | null;
  /** Read from the provider's cache, a part of `tokensIn`. */
  readonly cachedIn: number | null;
  readonly microUsd: number | null;
  readonly firstTokenMs: number | null;
  /** By which a request that is made again is known to be the one that was sent. */
  readonly promptHash: string | null;
}

/** What went into a thing or a step, and what came out. */
export interface TraceTexts {
  readonly input: Json;
  readonly output: Json;
}

/** What was set off, in a line. */
export interface ListedTrace extends Pick<
  TracedThing,
  "id" | "title" | "who" | "status" | "at" | "endedAt" | "tokens" | "tenant" | "session" | "job"
> {
  readonly kind: ListedKind;
  readonly error: string | null;
  readonly microUsd: number | null;
  readonly models: readonly string[];
}

export interface TraceFilter {
  readonly tenant: TenantView;
  readonly kind?: ListedKind | undefined;
  readonly state?: TraceState | undefined;
  readonly agent?: string | undefined;
  readonly service?: string | undefined;
  /** As `provider:model`. */
  readonly model?: string | undefined;
  /** Its code. */
  readonly error?: string | undefined;
  readonly minMicroUsd?: number | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly search?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** What is stored of causes. */
export interface CauseBook {
  find(id: string): Promise<TracedThing | undefined>;
  /** The id of what began it. */
  causeOf(thing: TracedThing): Promise<string | undefined>;
  /** What they began, at most `most` of it, the oldest first. */
  effectsOf(
    ids: readonly string[],
    most: number,
  ): Promise<readonly { readonly from: string; readonly thing: TracedThing }[]>;
}

/** What is stored of causes, and of turns. */
export interface TraceBook extends CauseBook {
  list(filter: TraceFilter): Promise<RowPage<ListedTrace>>;
  /** What turns consist of; `isCut`: there is more. */
  stepsOf(
    turns: readonly TracedThing[],
  ): Promise<{ readonly steps: readonly TraceStep[]; readonly isCut: boolean }>;
  /** @param place of a step of a turn; absent: of the thing itself */
  textsOf(thing: TracedThing, place?: string): Promise<TraceTexts>;
}

export type TraceNode = TracedThing & { readonly beganBy: string | null };

/** Things of one answer, and levels from the first to the last. Source: docs/spec/platform §3. */
export const MOST_THINGS = 200;
export const MOST_LEVELS = 20;

/**
 * What began a thing, up to the first cause, and all that this has begun. What one may not see is
 * not there, and nothing is looked for behind it. Undefined: there is no such thing.
 */
export async function walkTrace(
  asked: string,
  { book, maySee }: { book: CauseBook; maySee: (thing: TracedThing) => Promise<boolean> },
): Promise<{ readonly items: readonly TraceNode[]; readonly isCut: boolean } | undefined> {
  const focus = await book.find(asked);
  if (focus === undefined || !(await maySee(focus))) return undefined;
  const way = await wayTo(focus, { book, maySee });
  const found = new Map<string, TraceNode>();
  for (const [index, thing] of way.things.entries()) {
    found.set(thing.id, { ...thing, beganBy: way.things[index - 1]?.id ?? null });
  }

  let isCut = way.isCut;
  let level: readonly string[] = [way.things[0]!.id];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) {
      isCut ||= (await book.effectsOf(level, 1)).length > 0;
      break;
    }
    const most = MOST_THINGS + 1;
    const effects = await book.effectsOf(level, most);
    const added = await addTo(found, effects, maySee);
    isCut ||= added.isCut || effects.length === most;
    const onWay = way.things[depth]?.id;
    level = onWay === undefined ? added.ids : [...new Set([...added.ids, onWay])];
  }

  return { items: [...found.values()], isCut };
}

/** Adds what is new and may be seen, as far as there is room. */
async function addTo(
  found: Map<string, TraceNode>,
  effects: readonly { readonly from: string; readonly thing: TracedThing }[],
  maySee: (thing: TracedThing) => Promise<boolean>,
): Promise<{ readonly ids: readonly string[]; readonly isCut: boolean }> {
  const ids: string[] = [];
  for (const { from, thing } of effects) {
    if (found.has(thing.id) || !(await maySee(thing))) continue;
    if (found.size >= MOST_THINGS) return { ids, isCut: true };
    found.set(thing.id, { ...thing, beganBy: from });
    ids.push(thing.id);
  }

  return { ids, isCut: false };
}

/** From the first cause to the thing itself. */
async function wayTo(
  focus: TracedThing,
  { book, maySee }: { book: CauseBook; maySee: (thing: TracedThing) => Promise<boolean> },
): Promise<{ things: readonly TracedThing[]; isCut: boolean }> {
  const things = [focus];
  while (things.length <= MOST_LEVELS) {
    const cause = await book.causeOf(things[0]!);
    const isNew = cause !== undefined && !things.some(({ id }) => id === cause);
    const thing = isNew ? await book.find(cause) : undefined;
    if (thing === undefined || !(await maySee(thing))) return { things, isCut: false };
    things.unshift(thing);
  }

  return { things, isCut: true };
}
