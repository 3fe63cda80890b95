import type { TraceKind } from "../kernel/traces.ts";

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

/** What is stored of causes. */
export interface TraceBook {
  find(id: string): Promise<TracedThing | undefined>;
  /** The id of what began it. */
  causeOf(thing: TracedThing): Promise<string | undefined>;
  /** What they began, at most `most` of it, the oldest first. */
  effectsOf(
    ids: readonly string[],
    most: number,
  ): Promise<readonly { readonly from: string; readonly thing: TracedThing }[]>;
}

export type TraceNode = TracedThing & { readonly beganBy: string | null };

/** Things of one answer, and levels from the first to the last. Source: docs/spec/platform §3. */
export const MOST_THINGS = 200;
export const MOST_LEVELS = 20;

/** How a chain is read, and for which reader. */
export interface TraceReading {
  readonly book: TraceBook;
  readonly maySee: (thing: TracedThing) => Promise<boolean>;
}

/**
 * What began a thing, up to the first cause, and all that this has begun. What one may not see is
 * not there, and nothing is looked for behind it. Undefined: there is no such thing.
 */
export async function walkTrace(
  asked: string,
  reading: TraceReading,
): Promise<{ readonly items: readonly TraceNode[]; readonly isCut: boolean } | undefined> {
  const { book, maySee } = reading;
  const focus = await book.find(asked);
  if (focus === undefined || !(await maySee(focus))) return undefined;
  const way = await wayTo(focus, reading);
  const found = new Map<string, TraceNode>();
  for (const [index, thing] of way.things.entries()) {
    found.set(thing.id, { ...thing, beganBy: way.things[index - 1]?.id ?? null });
  }

  let { isCut } = way;
  let level: readonly string[] = [way.things[0]!.id];
  for (let depth = 1; depth <= MOST_LEVELS && level.length > 0; depth += 1) {
    const below = await levelBelow(level, found, reading);
    isCut ||= below.isCut;
    const onWay = way.things[depth]?.id;
    level = onWay === undefined ? below.ids : [...below.ids, onWay];
  }
  isCut ||= level.length > 0 && (await book.effectsOf(level, 1)).length > 0;

  return { items: [...found.values()], isCut };
}

/** Adds to `found` what the things of a level have begun. */
async function levelBelow(
  level: readonly string[],
  found: Map<string, TraceNode>,
  { book, maySee }: TraceReading,
): Promise<{ ids: readonly string[]; isCut: boolean }> {
  const effects = await book.effectsOf(level, MOST_THINGS + 1);
  const ids: string[] = [];
  for (const { from, thing } of effects) {
    if (found.has(thing.id) || !(await maySee(thing))) continue;
    if (found.size >= MOST_THINGS) return { ids, isCut: true };
    found.set(thing.id, { ...thing, beganBy: from });
    ids.push(thing.id);
  }

  return { ids, isCut: effects.length > MOST_THINGS };
}

/** From the first cause to the thing itself. */
async function wayTo(
  focus: TracedThing,
  { book, maySee }: TraceReading,
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
