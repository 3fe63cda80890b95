import type { Database } from "../durable/database.ts";
import { isObject, type Json } from "../kernel/json.ts";
import { toldValue } from "../kernel/told-tool.ts";
import { splitPlace } from "../engine/replay/replay.ts";
import type { TraceStepKind } from "../kernel/traces.ts";
import type { TraceStep, TraceTexts } from "../server/trace-walk.ts";

/** Rows of journals that one answer reads. */
const MOST_ROWS = 2_000;

/** A row of a journal, without the texts that it holds. */
interface JournalStep {
  readonly turn: string;
  readonly seq: number;
  readonly place: string;
  readonly type: string;
  readonly at: Date;
  readonly data: {
    readonly trace?: { elapsedMs: number; error: string | null } | null;
    readonly answer?: StepAnswer | null;
    readonly error?: { code?: string } | null;
    readonly status?: string | null;
    readonly elapsedMs?: number | null;
    readonly callId?: string | null;
    readonly tool?: string | null;
  };
}

interface StepAnswer {
  readonly provider: string;
  readonly model: string;
  readonly finishReason: string;
  readonly latencyMs: number;
  readonly firstTokenMs?: number;
  readonly usage: { readonly cachedIn?: number };
}

interface CallRow {
  readonly turn: string;
  readonly agent: string;
  readonly model: string;
  readonly attempt: number;
  readonly at: Date;
  readonly latency_ms: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_micro_usd: number | null;
  readonly prompt_hash: string;
  readonly error: string | null;
}

/** What turns consist of, in their order. `isCut`: there is more than is read. */
export async function stepsOf(
  database: Database,
  turns: readonly { readonly id: string; readonly session: string | null }[],
): Promise<{ readonly steps: readonly TraceStep[]; readonly isCut: boolean }> {
  if (turns.length === 0) return { steps: [], isCut: false };
  const ids = turns.map(({ id }) => id);
  const sessions = turns.map(({ session }) => session ?? "");
  const [rows, calls] = await Promise.all([
    database.query<JournalStep>(JOURNALS, [ids, MOST_ROWS + 1]),
    database.query<CallRow>(CALLS, [ids, sessions, MOST_ROWS + 1]),
  ]);
  const rowsOf = Map.groupBy(rows.slice(0, MOST_ROWS), ({ turn }) => turn);
  const callsOf = Map.groupBy(calls.slice(0, MOST_ROWS), ({ turn }) => turn);
  const steps = ids.flatMap((id) => turnSteps(id, rowsOf.get(id) ?? [], callsOf.get(id) ?? []));

  return { steps, isCut: rows.length > MOST_ROWS || calls.length > MOST_ROWS };
}

/**
 * The steps of one turn: a row for each place of its journal, and one for each call of a model that
 * no place has recorded. Pure.
 */
function turnSteps(
  turn: string,
  rows: readonly JournalStep[],
  calls: readonly CallRow[],
): TraceStep[] {
  const steps = new Map<string, TraceStep>();
  const left = [...calls];
  let before = rows[0]?.at.getTime() ?? 0;

  for (const row of rows) {
    const [path, title] = placeOf(row);
    const kind = kindOf(title);
    const at = row.at.getTime();
    if (kind === undefined || path.endsWith(".0")) continue;
    const known = steps.get(path) ?? blank(turn, { path, kind, title, at: before });
    const call =
      kind === "model" && row.type === "RECORD" ? takeCall(left, row.data, title) : undefined;
    steps.set(path, { ...known, ...ofCall(call), ...told(row, known) });
    if (row.type === "RECORD") before = at;
  }
  const unplaced = left.map((call, index) => ({
    ...blank(turn, {
      path: `call.${index + 1}`,
      kind: "model",
      title: `model:${call.agent}`,
      at: 0,
    }),
    ...ofCall(call),
    under: agentOf(call, steps),
  }));

  return [...steps.values(), ...unplaced].map((step) => within(step, steps));
}

/** What one row of the journal tells of its step. Pure. */
function told(row: JournalStep, known: TraceStep): Partial<TraceStep> {
  const at = row.at.getTime();
  const error = row.data.trace?.error ?? row.data.error?.code ?? null;
  switch (row.type) {
    case "AGENT_START":
      return { at: known.endedAt === null ? at : known.at };
    case "TOOL_START":
      return { at };
    case "TOOL_DONE": {
      const status = row.data.status === "asks" ? "waiting" : endOf(error);
      return { status, error, endedAt: at, at: began(at, row.data.elapsedMs, known.at) };
    }
    default:
      return recorded(row, known, error);
  }
}

/** What the end of a step tells of it. Pure. */
function recorded(
  { data: { answer, trace }, at }: JournalStep,
  { kind, ...known }: TraceStep,
  error: string | null,
): Partial<TraceStep> {
  const now = at.getTime();
  const ended = { status: endOf(error), error };
  if (kind === "wait") return { at: now, endedAt: null, status: "waiting" };
  if (kind === "model") {
    const cachedIn = answer?.usage?.cachedIn ?? null;
    return { ...ended, firstTokenMs: answer?.firstTokenMs ?? null, cachedIn };
  }
  const isTold = kind === "tool" && known.endedAt !== null;
  return isTold ? ended : { ...ended, endedAt: now, at: began(now, trace?.elapsedMs, known.at) };
}

function endOf(error: string | null): TraceStep["status"] {
  return error === null ? "done" : "failed";
}

function began(end: number, elapsedMs: number | null | undefined, otherwise: number): number {
  return elapsedMs == null ? Math.min(otherwise, end) : end - elapsedMs;
}

/** The call whose answer stands in a record: the same time to the fraction; else the first that failed so. */
function takeCall(
  left: CallRow[],
  { answer, error }: JournalStep["data"],
  title: string,
): CallRow | undefined {
  const agent = title.slice("model:".length);
  const index = left.findIndex(
    (call) =>
      call.agent === agent &&
      (answer ? call.latency_ms === answer.latencyMs : call.error === error?.code),
  );
  return index < 0 ? undefined : left.splice(index, 1)[0];
}

function ofCall(call: CallRow | undefined): Partial<TraceStep> {
  if (call === undefined) return {};
  const at = call.at.getTime();
  return {
    at,
    endedAt: at + Math.round(call.latency_ms),
    status: endOf(call.error),
    error: call.error,
    model: call.model,
    attempt: call.attempt,
    tokensIn: call.tokens_in,
    tokensOut: call.tokens_out,
    microUsd: call.cost_micro_usd,
    promptHash: call.prompt_hash,
  };
}

/** The agent that ran when a call was made. */
function agentOf({ agent }: CallRow, steps: ReadonlyMap<string, TraceStep>): string | null {
  const found = [...steps.values()].filter(({ title }) => title === `agent:${agent}`);
  return found.at(-1)?.place ?? null;
}

/** Its title without the kind; a wait ends with the call that follows it. */
function within(step: TraceStep, steps: ReadonlyMap<string, TraceStep>): TraceStep {
  const title = step.title.slice(step.title.indexOf(":") + 1);
  if (step.kind !== "wait") return { ...step, title };
  const [, outer = "", nr = "0"] = /^(.*\.)?(\d+)$/.exec(step.place) ?? [];
  const next = steps.get(`${outer}${Number(nr) + 1}`);
  return next?.endedAt == null
    ? { ...step, title }
    : { ...step, title, status: "done", endedAt: next.endedAt };
}

function blank(
  turn: string,
  { path, kind, title, at }: { path: string; kind: TraceStepKind; title: string; at: number },
): TraceStep {
  const outer = path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : null;
  return {
    ...{ turn, place: path, under: outer, kind, title, at, endedAt: null },
    ...{ status: "running", error: null, model: null, attempt: null, tokensIn: null },
    ...{ tokensOut: null, cachedIn: null, microUsd: null, firstTokenMs: null, promptHash: null },
  };
}

/** By the name of the step; undefined: it does nothing that a person looks for. */
function kindOf(title: string): TraceStepKind | undefined {
  const [, kind = ""] = /^([a-z]+)(?::|$)/.exec(title) ?? [];
  return KINDS[kind];
}

const KINDS: Readonly<Record<string, TraceStepKind>> = {
  agent: "agent",
  model: "model",
  tool: "tool",
  call: "tool",
  read: "tool",
  step: "step",
  wait: "wait",
  remote: "remote",
};

/** An event of a tool stands at the place of its agent, and names that of the call. */
function placeOf({ turn, place, type, data }: JournalStep): readonly [string, string] {
  if (!type.startsWith("TOOL_")) return splitPlace(place);
  return [(data.callId ?? "").slice(turn.length + 1), `tool:${data.tool ?? ""}`];
}

/** Bytes of what one step took or gave. */
const MOST_TEXT = 60_000;

/** What a step of a turn took and gave, without secrets; the request to a model is not stored. */
export async function textsOfStep(
  database: Database,
  turn: string,
  place: string,
): Promise<TraceTexts> {
  const rows = await database.query<{ type: string; data: Json }>(STEP, [
    turn,
    `${place} %`,
    `${turn}-${place}`,
  ]);
  const of = (type: string): Json => rows.findLast((row) => row.type === type)?.data ?? null;
  const [args, record] = [memberOf(of("TOOL_START"), "args"), of("RECORD")];
  const answer = memberOf(record, "answer");
  const output = answer === null ? record : withoutUsage(answer);

  return { input: args, output: toldValue(output, MOST_TEXT) };
}

function memberOf(value: Json, name: string): Json {
  return isObject(value) ? (value[name] ?? null) : null;
}

/** What a model has said; its numbers stand with the step. */
function withoutUsage(answer: Json): Json {
  const calls = memberOf(answer, "toolCalls");
  const text = memberOf(answer, "text");
  return Array.isArray(calls) && calls.length > 0 ? { text, toolCalls: calls as Json[] } : text;
}

/** `$1` the turn, `$2` a pattern of the place, `$3` the id of a tool's call there. */
const STEP = {
  name: "trace.step",
  text: `
    select e.type, e.data
    from dure.turn_events e
    where e.turn_id = $1
      and (
        (e.type = 'RECORD' and e.place like $2)
        or (e.type = 'TOOL_START' and e.data->>'callId' = $3)
      )
    order by e.seq
    limit 20`,
};

/** `$1` turns, `$2` most rows. What is long stays in the database. */
const JOURNALS = {
  name: "trace.journals",
  text: `
    select e.turn_id as turn, e.seq, e.place, e.type, e.at,
           jsonb_build_object(
             'trace', e.data->'trace', 'status', e.data->'status',
             'elapsedMs', e.data->'elapsedMs', 'callId', e.data->'callId',
             'tool', e.data->'tool',
             'error', case when jsonb_typeof(e.data->'error') = 'object'
               then jsonb_build_object('code', e.data->'error'->'code') end,
             'answer', case
               when jsonb_typeof(e.data->'answer') = 'object' and e.place like '% model:%' then
               (e.data->'answer') - '{text,toolCalls,reasoning}'::text[] end
           ) as data
    from dure.turn_events e
    where e.turn_id = any($1) and e.type in ('RECORD', 'AGENT_START', 'TOOL_START', 'TOOL_DONE')
    order by array_position($1, e.turn_id), e.seq
    limit $2`,
};

/** `$1` turns, `$2` their sessions, `$3` most rows. */
const CALLS = {
  name: "trace.calls",
  text: `
    select c.turn_id as turn, c.agent, c.provider || ':' || c.model as model, c.attempt, c.at,
           c.latency_ms, c.tokens_in, c.tokens_out, c.cost_micro_usd, c.prompt_hash, c.error
    from dure.model_calls c
    where c.session_id = any($2) and c.turn_id = any($1)
    order by c.id
    limit $3`,
};
