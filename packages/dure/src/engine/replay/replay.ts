import { DureError } from "../../kernel/errors.ts";
import { canonicalJson, isObject, type Json } from "../../kernel/json.ts";
import type { JournalRow } from "../../durable/turns.ts";
import type { ModelRequest } from "../../models/model.ts";
import type { AnyTool } from "../agent/tool.ts";
import { modelStep } from "../agent/agent-model.ts";
import type { EffectOutcome } from "../turn/turn-context.ts";

/** A call of a tool in a replay, and where its answer came from. */
export interface ReplayedCall {
  readonly agent: string;
  readonly tool: string;
  readonly input: unknown;
  /** `recorded`: as in the stored turn. `refused`: the stored turn has no such call. */
  readonly answer: "recorded" | "refused";
}

/** A request as an agent asks its model, at its place in the journal. */
export interface AskedRequest {
  readonly place: string;
  readonly request: ModelRequest;
  /** Where the messages of this turn begin in it; undefined: at the person's last one. */
  readonly turnFrom: number | undefined;
}

/** A call as the stored turn has it. `args`: as the model gave them; absent: no model has. */
interface RecordedCall {
  readonly agent: string;
  readonly tool: string;
  readonly args: Json | undefined;
  readonly outcome: EffectOutcome<unknown>;
}

/** Steps that are done anew: they do nothing to the outside but ask a model. */
const DONE_ANEW = /^(?:agent|model|tool|event|check):|^now$/u;

/**
 * The guard of a replay: no effect is ever done. What is no call of a model comes from the journal
 * of the stored turn, or is refused; a kind of step that is not known here is refused too.
 */
export class Replay {
  readonly #recorded: RecordedCall[];
  /** By place, as the stored turn has them. */
  readonly #agents: ReadonlyMap<string, string>;
  /** Places at which this replay runs another agent. */
  readonly #others = new Set<string>();
  readonly #calls: ReplayedCall[] = [];
  readonly #refused: string[] = [];
  readonly #asked: AskedRequest[] = [];
  readonly #asksNoModel: boolean;

  /** @param from the row from which on it goes its own way; `never`: it asks no model at all */
  constructor(rows: readonly JournalRow[], from: number | "never" = 0) {
    this.#asksNoModel = from === "never";
    this.#agents = agentPlaces(rows);
    this.#recorded = recordedCalls(rows, this.#agents, from === "never" ? 0 : from);
  }

  /** Every request to a model, also those whose answer is recorded. */
  get asked(): readonly AskedRequest[] {
    return this.#asked;
  }

  asks(asked: AskedRequest): void {
    this.#asked.push(asked);
  }

  get calls(): readonly ReplayedCall[] {
    return this.#calls;
  }

  /** Names of steps that were refused. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /**
   * Whether a record is not this step's: the replay asks a model where the turn did something else.
   * What another agent read there is not this one's.
   */
  goesAnotherWay(now: { path: string; name: string }, recorded: string | undefined): boolean {
    const { path, name } = now;
    const top = path.split(".")[0]!;
    if (path !== top && this.#others.has(top)) return true;
    if (path === top && name.startsWith("agent:") && name !== `agent:${this.#agents.get(top)}`) {
      this.#others.add(top);
    }
    return name !== recorded && DONE_ANEW.test(name);
  }

  /** Before the work of a step that the stored turn has no record of. Throws `REPLAY_REFUSED`. */
  assertMayDo(step: string): void {
    const isRefused = this.#asksNoModel && step.startsWith("model:");
    if (DONE_ANEW.test(step) && !isRefused) return;
    this.#refused.push(step);
    throw new DureError(
      "REPLAY_REFUSED",
      `The replay came to "${step}", which the stored turn did not do.`,
      {
        class: "conflict",
        hint: "A replay does nothing to the outside. What it said up to here is shown.",
      },
    );
  }

  /** The answer of the stored turn to exactly this call; each is given once. */
  toolAnswer(
    agent: string,
    { name, tool, input }: { name: string; tool: AnyTool; input: unknown },
  ): EffectOutcome<unknown> {
    const index = this.#recorded.findIndex((call) => isSame(call, { agent, name, tool, input }));
    const found = index < 0 ? undefined : this.#recorded.splice(index, 1)[0];
    this.#calls.push({ agent, tool: name, input, answer: found ? "recorded" : "refused" });

    return found?.outcome ?? { status: "failed", error: NOT_CALLED };
  }
}

/** As the model reads it. */
const NOT_CALLED = {
  code: "REPLAY_REFUSED",
  message: "No tool is called in a replay, and the stored turn has no such call.",
} as const;

function isSame(
  call: RecordedCall,
  now: { agent: string; name: string; tool: AnyTool; input: unknown },
): boolean {
  if (call.agent !== now.agent || call.tool !== now.name) return false;
  if (call.args === undefined) return true;
  const read = now.tool.inputSchema.safeParse(call.args);
  return read.success && canonicalJson(read.data) === canonicalJson(now.input);
}

/** The tool calls of a journal: a model's answer names arguments, the records after it outcomes. Pure. */
function recordedCalls(
  rows: readonly JournalRow[],
  agents: ReadonlyMap<string, string>,
  from: number,
): RecordedCall[] {
  const records = rows.filter(({ type, place }) => type === "RECORD" && place.includes("."));
  const asked = new Map<string, { name: string; args: Json }[]>();
  const calls: RecordedCall[] = [];

  for (const { place, data, seq } of records) {
    const [path, name] = splitPlace(place);
    const outer = path.slice(0, path.lastIndexOf("."));
    const agent = agents.get(outer);
    if (agent === undefined) continue;
    if (name === modelStep(agent)) asked.set(outer, callsIn(data));
    if (!name.startsWith("tool:")) continue;
    const tool = name.slice("tool:".length);
    const waiting = asked.get(outer);
    const index = waiting?.findIndex((call) => call.name === tool) ?? -1;
    const args = index < 0 ? undefined : waiting!.splice(index, 1)[0]!.args;
    if (seq >= from) calls.push({ agent, tool, args, outcome: data as EffectOutcome<unknown> });
  }

  return calls;
}

/** Keys of the agents that a handler has run, by their places. Pure. */
export function agentPlaces(rows: readonly JournalRow[]): ReadonlyMap<string, string> {
  return new Map(
    rows.flatMap(({ place }) => {
      const [path, name] = splitPlace(place);
      const isAgent = name.startsWith("agent:") && !path.includes(".");
      return isAgent ? [[path, name.slice("agent:".length)] as const] : [];
    }),
  );
}

function callsIn(record: unknown): { name: string; args: Json }[] {
  const answer = isObject(record) ? record["answer"] : undefined;
  const calls = isObject(answer) ? answer["toolCalls"] : undefined;
  return Array.isArray(calls) ? (calls as { name: string; args: Json }[]).slice() : [];
}

/** Place and name of a row. Pure. */
export function splitPlace(place: string): readonly [string, string] {
  const space = place.indexOf(" ");
  return [place.slice(0, space), place.slice(space + 1)];
}
