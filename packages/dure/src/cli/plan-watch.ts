import { Listr } from "listr2";
import type { PlatformEvent, PortStatus, RunDetail } from "../client/index.ts";
import type { Output } from "./output.ts";

/** Shows a run to somebody who watches it. */
export interface RunWatch {
  /** How it stands. Called again, it is how it stands now. */
  begin(run: RunDetail): void;
  event(event: PlatformEvent): void;
  /** Resolves when nothing more is drawn. Called again it does nothing. */
  end(run: RunDetail | undefined): Promise<void>;
}

/** More ports than this are shown as lines on a terminal too. */
const LIVE_MOST = 40;

/** A living list on a terminal, a line per event in a pipe, nothing with `--json`. */
export function watching(output: Output): RunWatch {
  let watch: RunWatch | undefined;
  return {
    begin: (run) => {
      watch ??= output.isTerminal && run.ports.length <= LIVE_MOST ? new LiveList(run, output) : new Lines(output);
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
    this.#output.line(`${run.id}  ${run.plan}  ${run.status} (${run.phase}), ${run.ports.length} ${run.ports.length === 1 ? "port" : "ports"}`);
    for (const { id, status, because } of run.ports) if (status !== "waiting") this.#output.line(`${id}  ${status}${because ? `: ${because.message}` : ""}`);
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
    for (const { id, status } of run.ports) this.#rows.set(id, { ended: Promise.withResolvers(), status, words: "", task: undefined });
    const tasks = run.ports.map(({ id }) => {
      const row = this.#rows.get(id)!;
      return {
        title: titleOf(id, row),
        task: async (_: unknown, task: { title?: string; skip(message?: string): void }): Promise<void> => {
          row.task = task;
          task.title = titleOf(id, row);
          const status = await row.ended.promise;
          if (status === "failed") throw new Error(titleOf(id, row));
          if (status !== "succeeded") task.skip(titleOf(id, row));
        },
      };
    });
    this.#drawn = new Listr(tasks, { concurrent: true, exitOnError: false, rendererOptions: { collapseErrors: false, showErrorMessage: false, collapseSkips: true } }).run().then(
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
    const row = typeof port === "string" ? this.#rows.get(port) : undefined;
    if (row) this.#set(port as string, STATUS_AFTER[event.type] ?? row.status, wordsOf(event) ?? row.words);
  }

  async end(run: RunDetail | undefined): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { id, status, because } of run?.ports ?? []) this.#set(id, status, because?.message ?? "");
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

const STATUS_AFTER: Readonly<Record<string, PortStatus>> = { "port.ready": "ready", "port.start": "running", "port.success": "succeeded", "port.failed": "failed", "port.blocked": "blocked", "port.recalled": "waiting" };

function titleOf(id: string, { status, words }: Row): string {
  return `${id}  ${status}${words === "" ? "" : `: ${words}`}`;
}

/** An event as a line; undefined for what says nothing new to a person. Pure. */
export function lineOf(event: PlatformEvent): string | undefined {
  const { type, data } = event;
  const words = wordsOf(event);
  if (words === undefined) return undefined;
  const at = new Date(event.at).toISOString().slice(11, 19);
  return typeof data["port"] === "string" && type !== "escalation.new" ? `${at}  ${data["port"]}  ${words}` : `${at}  ${words}`;
}

/** What an event says, without the port's name. Pure. */
function wordsOf({ type, data }: PlatformEvent): string | undefined {
  const { member, because, by, success, passed, total, status, changed, tokens, worker, task, progress, title, id, branch, outcome, attempt } = data as Readonly<Record<string, string | number | boolean | null | undefined>>;
  const number = data["try"];
  switch (type) {
    case "run.start":
      return "the run begins";
    case "run.pause":
      return "paused: what works goes on, nothing starts";
    case "run.resume":
      return "goes on";
    case "run.cancel":
      return "is being cancelled";
    case "run.waiting_host":
      return "waits for the machine that holds its files";
    case "run.end":
      return `ended: ${outcome}${because === undefined ? "" : `: ${because}`}`;
    case "port.start":
      return attempt === 1 ? "starts" : `starts again (${attempt})`;
    case "port.success":
      return "succeeded";
    case "port.failed":
      return `failed: ${because}`;
    case "port.blocked":
      return `is blocked by ${by}`;
    case "port.recalled":
      return `is given back: ${because}`;
    case "worker.spawn":
      return `try ${number}: ${member} (${worker}) works`;
    case "worker.progress":
      return `try ${number}: ${member} ${Math.round(Number(progress) * 100)} %${task === "" || task === undefined ? "" : `, ${task}`}`;
    case "worker.complete":
      return `try ${number}: ${member} ${status}, ${changed} ${changed === 1 ? "file" : "files"} changed, ${tokens} tokens`;
    case "worker.feedback":
      return `try ${number}: ${success === true ? "passed" : "did not pass"}, ${passed} of ${total} tests`;
    case "merge.done":
      return branch === null ? "nothing to merge" : `merged into ${branch}`;
    case "escalation.new":
      return `! ${title}  (dure escalations show ${id})`;
    default:
      return undefined;
  }
}

export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}
