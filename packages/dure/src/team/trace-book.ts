import type { Database } from "../durable/database.ts";
import { jobOfSession } from "../jobs/job.ts";
import { escalationOfSession } from "../kernel/escalation.ts";
import type { TraceKind } from "../kernel/traces.ts";
import type { TraceBook, TracedThing, TraceTexts } from "../server/trace-walk.ts";
import { listTraces } from "./trace-list.ts";
import { textsOfStep, stepsOf } from "./trace-steps.ts";
import { CAUSES, EFFECTS, TEXTS, THINGS } from "./trace-statements.ts";

/** Reads what began what from the rows of turns, rooms, jobs and runs. */
export function traceBook(database: Database): TraceBook {
  return {
    find: async (id) => (await thingsOf(database, [id])).get(id),
    causeOf: (thing) => causeOf(database, thing),
    effectsOf: async (ids, most) => {
      const groups = grouped(ids);
      const pairs = await database.query<{ from: string; id: string }>(EFFECTS, [
        ...["turn", "job", "run", "message", "request", "escalation"].map(
          (kind) => groups.get(kind as TraceKind) ?? [],
        ),
        most,
      ]);
      const things = await thingsOf(
        database,
        pairs.map(({ id }) => id),
      );

      return pairs.flatMap(({ from, id }) => {
        const thing = things.get(id);
        return thing === undefined ? [] : [{ from, thing }];
      });
    },
    list: (filter) => listTraces(database, filter),
    stepsOf: (turns) => stepsOf(database, turns),
    textsOf: (thing, place) =>
      place === undefined ? textsOf(database, thing) : textsOfStep(database, thing.id, place),
  };
}

const NO_TEXTS: TraceTexts = { input: null, output: null };

async function textsOf(database: Database, { kind, id }: TracedThing): Promise<TraceTexts> {
  const statement = kind in TEXTS ? TEXTS[kind as keyof typeof TEXTS] : undefined;
  const [texts] = statement ? await database.query<TraceTexts>(statement, [id]) : [];
  return texts ?? NO_TEXTS;
}

/** By the way an id begins; a port is `<run>/<port>`. Pure. */
function kindOf(id: string): TraceKind | undefined {
  if (id.includes("/")) return "port";
  const [, kind] = /^(turn|job|run|message|request|escalation)_/.exec(id) ?? [];
  return kind as TraceKind | undefined;
}

function grouped(ids: readonly string[]): Map<TraceKind, string[]> {
  const groups = new Map<TraceKind, string[]>();
  for (const id of ids) {
    const kind = kindOf(id);
    if (kind !== undefined) groups.set(kind, [...(groups.get(kind) ?? []), id]);
  }
  return groups;
}

async function thingsOf(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TracedThing>> {
  const found = new Map<string, TracedThing>();
  for (const [kind, some] of grouped([...new Set(ids)])) {
    const rows = await database.query<ThingRow>(THINGS[kind], [some]);
    for (const row of rows) found.set(row.id, thingOf(kind, row));
  }
  return found;
}

interface ThingRow {
  readonly id: string;
  readonly tenant: string;
  readonly title: string;
  readonly who: string;
  readonly status: string;
  readonly at: Date;
  readonly ended_at: Date | null;
  readonly session: string | null;
  readonly place: string | null;
  readonly job: string | null;
  readonly tokens: number | null;
  readonly agents: readonly TraceAgentRow[] | null;
}

interface TraceAgentRow {
  readonly agent: string;
  readonly elapsedMs: number;
  readonly success: boolean;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

function thingOf(kind: TraceKind, row: ThingRow): TracedThing {
  const { at, ended_at: endedAt, agents: told, tokens, ...rest } = row;
  const agents = told ?? [];
  const ofAgents = agents.reduce((sum, one) => sum + one.tokensIn + one.tokensOut, 0);

  return {
    ...rest,
    kind,
    at: at.getTime(),
    endedAt: endedAt?.getTime() ?? null,
    tokens: tokens ?? (kind === "turn" && told !== null ? ofAgents : null),
    agents: agents.map(({ agent, elapsedMs, success }) => ({ agent, elapsedMs, success })),
  };
}

async function causeOf(database: Database, thing: TracedThing): Promise<string | undefined> {
  const { id, kind, session } = thing;
  if (kind === "port") return id.slice(0, id.indexOf("/"));
  if (kind === "run") return undefined;
  const [row] = await database.query<{ cause: string | null }>(CAUSES[kind], [id]);
  if (row?.cause) return row.cause;
  if (kind !== "turn" || session === null) return undefined;

  return jobOfSession(session) ?? escalationOfSession(session);
}
