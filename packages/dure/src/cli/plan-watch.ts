import { Listr } from "listr2";
import type { PlatformEvent, PortStatus, RunDetail } from "../client/index.ts";
import { harmless } from "./harmless.ts";
import type { Output } from "./output.ts";

/** Shows a run to its reader while it goes on. */
export interface RunWatch {
  /** How it stands. Called again, it is how it stands now. */
  begin(run: RunDetail): void;
  event(event: PlatformEvent): void;
  /** Resolves when nothing more is drawn. Called again it does nothing. */
  end(run: RunDetail | undefined): Promise<void>;
}

/** More ports than this are shown as lines on a terminal too. */
const MAX_LIVE = 40;

/** A living list on a terminal, a line per event in a pipe, nothing with `--json`. */
export function watching(output: Output): RunWatch {
  let watch: RunWatch | undefined;
  return {
    begin: (run) => {
      watch ??=
        output.isTerminal && run.ports.length <= MAX_LIVE
          ? new LiveList(run, output)
          : new Lines(output);
      watch.begin(run);
    },
    event: (event) => watch?.event(event),
    end: async (run) => watch?.end(run),
  };
}

/** A line per event. */
class Lines implements RunWatch {
  readonly #output: Output;
  #isBegun = false;

  constructor(output: Output) {
    this.#output = output;
  }

  begin(run: RunDetail): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const { id: runId, plan, status: runStatus, phase, ports } = run;
    const count = `${ports.length} ${ports.length === 1 ? "port" : "ports"}`;
    this.#output.line(`${runId}  ${plan}  ${runStatus} (${phase}), ${count}`);
    for (const { id, status, because } of ports) {
      if (status === "waiting") continue;
      this.#output.line(`${id}  ${status}${because ? `: ${because.message}` : ""}`);
    }
  }

  event(event: PlatformEvent): void {
    const line = lineOf(event);
    if (line !== undefined) this.#output.line(line);
  }

  async end(): Promise<void> {}
}

interface Row {
  readonly ended: PromiseWithResolvers<PortStatus>;
  status: PortStatus;
  words: string;
  task: { title?: string } | undefined;
}

/** A row per port, all alive until the run ends: a port that failed may be tried again. */
class LiveList implements RunWatch {
  readonly #rows = new Map<string, Row>();
  readonly #drawn: Promise<void>;
  readonly #notes: string[] = [];
  readonly #output: Output;
  #isOver = false;

  constructor(run: RunDetail, output: Output) {
    this.#output = output;
    for (const { id, status } of run.ports) {
      this.#rows.set(id, { ended: Promise.withResolvers(), status, words: "", task: undefined });
    }
    const tasks = run.ports.map(({ id }) => {
      const row = this.#rows.get(id)!;
      return {
        title: titleOf(id, row),
        task: async (
          _: unknown,
          task: { title?: string; skip(message?: string): void },
        ): Promise<void> => {
          row.task = task;
          task.title = titleOf(id, row);
          const status = await row.ended.promise;
          if (status === "failed") throw new Error(titleOf(id, row));
          if (status !== "succeeded") task.skip(titleOf(id, row));
        },
      };
    });
    this.#drawn = new Listr(tasks, {
      concurrent: true,
      exitOnError: false,
      rendererOptions: { collapseErrors: false, showErrorMessage: false, collapseSkips: true },
    })
      .run()
      .then(
        () => undefined,
        () => undefined,
      );
  }

  begin(run: RunDetail): void {
    for (const { id, status, because } of run.ports) this.#set(id, status, because?.message ?? "");
  }

  event(event: PlatformEvent): void {
    if (event.type === "escalation.new") return void this.#notes.push(lineOf(event)!);
    const { port } = event.data;
    if (typeof port !== "string") return;
    const row = this.#rows.get(port);
    if (!row) return;

    const status = STATUS_AFTER[event.type] ?? row.status;
    this.#set(port, status, wordsAfterStatus(event) ?? row.words);
  }

  async end(run: RunDetail | undefined): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { id, status, because } of run?.ports ?? []) {
      this.#set(id, status, because?.message ?? "");
    }
    for (const row of this.#rows.values()) row.ended.resolve(run ? row.status : "cancelled");
    await this.#drawn;
    for (const note of this.#notes) this.#output.line(note);
  }

  #set(id: string, status: PortStatus, words: string): void {
    const row = this.#rows.get(id)!;
    row.status = status;
    row.words = words;
    if (row.task) row.task.title = titleOf(id, row);
  }
}

const STATUS_AFTER: Readonly<Record<string, PortStatus>> = {
  "port.ready": "ready",
  "port.start": "running",
  "port.success": "succeeded",
  "port.failed": "failed",
  "port.blocked": "blocked",
  "port.recalled": "waiting",
};

function titleOf(id: string, { status, words }: Row): string {
  // The list draws itself, past the output.
  return harmless(`${id}  ${status}${words === "" ? "" : `: ${words}`}`);
}

/** An event as a line; undefined for what says nothing new to a person. Pure. */
function lineOf(event: PlatformEvent): string | undefined {
  const { type, data } = event;
  const words = wordsOf(event);
  if (words === undefined) return undefined;
  const at = new Date(event.at).toISOString().slice(11, 19);
  return typeof data["port"] === "string" && type !== "escalation.new"
    ? `${at}  ${data["port"]}  ${words}`
    : `${at}  ${words}`;
}

/** Members of the events of a run; each event has some of them. Source: docs/spec/plans §8. */
interface Told {
  readonly member?: string;
  readonly because?: string;
  readonly by?: string;
  readonly success?: boolean;
  readonly passed?: number;
  readonly total?: number;
  readonly status?: string;
  readonly changed?: number;
  readonly tokens?: number;
  readonly worker?: string;
  readonly task?: string;
  readonly progress?: number;
  readonly title?: string;
  readonly id?: string;
  readonly branch?: string | null;
  readonly outcome?: string;
  readonly attempt?: number;
  readonly try?: number;
  readonly silentMs?: number;
}

/** What an event says, without the port's name. Pure. */
function wordsOf({ type, data }: PlatformEvent): string | undefined {
  return WORDS[type]?.(data);
}

/** What is said of each type of event. */
const WORDS: Readonly<Record<string, (told: Told) => string>> = {
  "run.start": () => "the run begins",
  "run.pause": () => "paused: what works goes on, nothing starts",
  "run.resume": () => "goes on",
  "run.refused": ({ by = "a person", because = "" }) =>
    `did not do what ${by} asked: ${because}`.trim(),
  "run.cancel": () => "is being cancelled",
  "run.waiting_host": () => "waits for the machine that holds its files",
  "run.end": ({ outcome, because }) =>
    because === undefined ? `ended: ${outcome}` : `ended: ${outcome}: ${because}`,
  "port.start": ({ attempt }) => (attempt === 1 ? "starts" : `starts again (${attempt})`),
  "port.success": () => "succeeded",
  "port.failed": ({ because }) => `failed: ${because}`,
  "port.blocked": ({ by }) => `is blocked by ${by}`,
  "port.recalled": ({ because }) => `is given back: ${because}`,
  "worker.spawn": (told) => `${tryOf(told)} (${told.worker}) works`,
  "worker.progress": (told) => {
    const { progress = 0, task = "" } = told;
    const percent = `${tryOf(told)} ${Math.round(progress * 100)} %`;
    return task === "" ? percent : `${percent}, ${task}`;
  },
  "worker.stalled": (told) => {
    const silence = seconds(told.silentMs ?? 0);
    return `${tryOf(told)} gave no sign for ${silence}; its time limit ends it, if nothing else`;
  },
  "worker.complete": (told) => {
    const { status, changed = 0, tokens = 0 } = told;
    const files = `${changed} ${changed === 1 ? "file" : "files"}`;
    return `${tryOf(told)} ${status}, ${files} changed, ${tokens} tokens`;
  },
  "worker.feedback": ({ try: number = 0, success, passed = 0, total = 0 }) =>
    `try ${number}: ${success ? "passed" : "did not pass"}, ${passed} of ${total} tests`,
  "merge.done": ({ branch }) => (branch ? `merged into ${branch}` : "nothing to merge"),
  "escalation.new": ({ title, id }) => `! ${title}  (dure escalations show ${id})`,
};

/** Which try of which member. Pure. */
function tryOf({ try: number = 0, member = "a member" }: Told): string {
  return `try ${number}: ${member}`;
}

/** What a row says after the status that the event sets. Pure. */
function wordsAfterStatus(event: PlatformEvent): string | undefined {
  if (!(event.type in STATUS_AFTER)) return wordsOf(event);
  const { because, by } = event.data;
  return typeof because === "string" ? because : typeof by === "string" ? `by ${by}` : "";
}

export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}
