import type { AgentPrints, Printed, Tokens } from "../agents/printed/printed.ts";
import { readPrinted } from "../agents/printed/read-printed.ts";
import type { WorkerReport } from "./worker-run.ts";
import { MAX_SUMMARY } from "./worker.ts";

/** Characters of one line. A tool's call with a whole file fits; the rest of a longer one is left. */
const MAX_LINE = 8_000_000;
/** Calls whose tokens may be told again in a later line. */
const MAX_CALLS = 200;

const NOTHING: Tokens = { input: 0, output: 0 };

/** What an agent tells is handed on to these. */
export interface AgentListeners {
  /** What its tools printed, and its own words. */
  readonly onWords: (text: string) => void;
  /** A line that is not of the agent's form, and what keeps it from its work. */
  readonly onPlain: (text: string) => void;
}

/** The standard output of a coding agent that prints its turn, one object of JSON a line. */
export class AgentOutput {
  readonly #prints: AgentPrints;
  readonly #report: WorkerReport;
  readonly #on: AgentListeners;
  /** Calls by their ids, newest last. */
  readonly #calls = new Map<string, Tokens>();
  #counted: Tokens = NOTHING;
  #sum: Tokens = NOTHING;
  #rest = "";
  #said = "";
  #isAfterTool = false;
  #hasSpoken = false;
  #hasWorked = false;

  constructor(prints: AgentPrints, report: WorkerReport, on: AgentListeners) {
    this.#prints = prints;
    this.#report = report;
    this.#on = on;
  }

  /** Whether it printed its turn, and its model was never called in it. */
  get isIdle(): boolean {
    return this.#hasSpoken && !this.#hasWorked;
  }

  /** Its last words, after its last tool; empty: it said none. */
  get said(): string {
    return this.#said.trim();
  }

  /** What its calls used, or the sum that it told, where that is more. Undefined: it told nothing. */
  get tokens(): Tokens | undefined {
    const input = Math.max(this.#counted.input, this.#sum.input);
    const output = Math.max(this.#counted.output, this.#sum.output);
    const cached = Math.max(this.#counted.cached ?? 0, this.#sum.cached ?? 0);

    return input + output > 0 ? { input, cached, output } : undefined;
  }

  /** Takes output in pieces. */
  push(chunk: string): void {
    const lines = `${this.#rest}${chunk}`.split("\n");
    this.#rest = lines.pop()!.slice(0, MAX_LINE);
    for (const line of lines) this.#read(line);
  }

  /** The last line, which has no end. */
  end(): void {
    const last = this.#rest;
    this.#rest = "";
    if (last !== "") this.#read(last);
  }

  #read(line: string): void {
    const printed = readPrinted(this.#prints, line);
    if (printed === undefined) {
      this.#report.note({ kind: "stdout", text: `${line}\n` });
      this.#on.onPlain(`${line}\n`);

      return;
    }
    this.#hasSpoken = true;
    for (const one of printed) this.#take(one);
  }

  #take(one: Printed): void {
    switch (one.kind) {
      case "entry":
        this.#hear(one.entry);
        return;
      case "call":
        this.#hasWorked = true;
        this.#count(one);

        return;
      case "sum":
        this.#hasWorked = this.#hasWorked || one.tokens.input + one.tokens.output > 0;
        this.#sum = one.tokens;
        this.#countSum();
        if (one.usd !== undefined) this.#report.costs({ amount: one.usd, currency: "USD" });

        return;
      case "trouble":
        this.#report.note({ kind: "stderr", text: `${one.text}\n` });
        this.#on.onPlain(`${one.text}\n`);
    }
  }

  #hear(entry: Extract<Printed, { kind: "entry" }>["entry"]): void {
    this.#report.note(entry);
    const { kind, title, text } = entry;
    if (kind !== "stderr") this.#hasWorked = true;
    if (kind === "tool" && title !== undefined) this.#report.progress({ currentTask: title });
    if (kind === "result") this.#on.onWords(`${text}\n`);
    if (kind === "tool" || kind === "result") this.#isAfterTool = true;
    if (kind !== "message") return;
    if (this.#isAfterTool) this.#said = "";
    this.#isAfterTool = false;
    this.#said = `${this.#said}${text}`.slice(-MAX_SUMMARY * 2);
    this.#on.onWords(text);
  }

  /** A call that was told already counts with what is more now. */
  #count({ id, tokens, usd }: Extract<Printed, { kind: "call" }>): void {
    if (usd !== undefined && (id === undefined || !this.#calls.has(id))) {
      this.#report.costs({ amount: (this.#report.cost?.amount ?? 0) + usd, currency: "USD" });
    }
    const before = (id === undefined ? undefined : this.#calls.get(id)) ?? NOTHING;
    const more = {
      input: Math.max(0, tokens.input - before.input),
      cached: Math.max(0, (tokens.cached ?? 0) - (before.cached ?? 0)),
      output: Math.max(0, tokens.output - before.output),
    };
    const isNew = id === undefined || !this.#calls.has(id);
    if (id !== undefined) this.#remember(id, tokens);
    if (more.input + more.output === 0) return;
    this.#counted = {
      input: this.#counted.input + more.input,
      cached: (this.#counted.cached ?? 0) + more.cached,
      output: this.#counted.output + more.output,
    };
    if (isNew) this.#report.used(more);
    else this.#report.usedMore(more);
  }

  /** What the sum has more than its calls: those that were not told. */
  #countSum(): void {
    const { input, cached = 0, output } = this.tokens ?? NOTHING;
    const before = this.#counted;
    const more = {
      input: input - before.input,
      cached: cached - (before.cached ?? 0),
      output: output - before.output,
    };
    this.#counted = { input, cached, output };
    if (more.input + more.output > 0) this.#report.usedMore(more);
  }

  #remember(id: string, tokens: Tokens): void {
    this.#calls.set(id, tokens);
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > MAX_CALLS) this.#calls.delete(oldest!);
  }
}
