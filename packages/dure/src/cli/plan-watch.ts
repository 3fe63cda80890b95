import { Listr } from "listr2";
import type { EventData, PlatformEvent, PortStatus, RunDetail } from "../client/index.ts";
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

    const port = portOf(event);
    const row = port === undefined ? undefined : this.#rows.get(port);
    if (port === undefined || row === undefined) return;

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

/** The port that an event is about, if it is about one. Pure. */
function portOf({ data }: PlatformEvent): string | undefined {
  return "port" in data && typeof data.port === "string" ? data.port : undefined;
}

const STATUS_AFTER: Readonly<Partial<Record<PlatformEvent["type"], PortStatus>>> = {
  "port.ready": "ready",
  "port.start": "running",
  "port.success": "succeeded",
  "port.held": "held",
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
  const words = wordsOf(event);
  if (words === undefined) return undefined;

  const at = new Date(event.at).toISOString().slice(11, 19);
  const port = event.type === "escalation.new" ? undefined : portOf(event);

  return port === undefined ? `${at}  ${words}` : `${at}  ${port}  ${words}`;
}

/** What an event says, without the port's name; undefined for what says nothing new. Pure. */
function wordsOf(event: PlatformEvent): string | undefined {
  return wordsOfRun(event) ?? wordsOfPort(event) ?? wordsOfWorker(event);
}

function wordsOfRun(event: PlatformEvent): string | undefined {
  switch (event.type) {
    case "run.start":
      return "the run begins";
    case "run.pause":
      return "paused: what works goes on, nothing starts";
    case "run.resume":
      return "goes on";
    case "run.refused":
      return `did not do what ${event.data.by} asked: ${event.data.because}`.trim();
    case "run.cancel":
      return "is being cancelled";
    case "run.waiting_host":
      return "waits for the machine that holds its files";
    case "run.end": {
      const { outcome, because } = event.data;
      return because === undefined ? `ended: ${outcome}` : `ended: ${outcome}: ${because}`;
    }
    case "merge.done":
      return event.data.branch ? `merged into ${event.data.branch}` : "nothing to merge";
    case "escalation.new":
      return `! ${event.data.title}  (dure escalations show ${event.data.id})`;
    default:
      return undefined;
  }
}

function wordsOfPort(event: PlatformEvent): string | undefined {
  switch (event.type) {
    case "port.start": {
      const { attempt } = event.data;
      return attempt === 1 ? "starts" : `starts again (${attempt})`;
    }
    case "port.success":
      return "succeeded";
    case "port.held":
      return "is accepted, and waits for your approval";
    case "port.failed":
      return `failed: ${event.data.because}`;
    case "port.blocked":
      return `is blocked by ${event.data.by}`;
    case "port.recalled":
      return `is given back: ${event.data.because}`;
    default:
      return undefined;
  }
}

function wordsOfWorker(event: PlatformEvent): string | undefined {
  switch (event.type) {
    case "worker.spawn":
      return `${tryOf(event.data)} (${event.data.worker}) works`;
    case "worker.progress": {
      const { progress, task } = event.data;
      const percent = `${tryOf(event.data)} ${Math.round(progress * 100)} %`;

      return task === "" ? percent : `${percent}, ${task}`;
    }
    case "worker.stalled": {
      const silence = seconds(event.data.silentMs);
      return `${tryOf(event.data)} gave no sign for ${silence}; its time limit ends it, if nothing else`;
    }
    case "worker.waiting":
      return `${tryOf(event.data)} ${waitingWords(event.data)}`;
    case "worker.complete": {
      const { status = "ended", changed, tokens } = event.data;
      const files =
        changed === undefined ? "" : `, ${changed} ${changed === 1 ? "file" : "files"} changed`;
      const used = tokens === 0 ? "" : `, ${tokens} tokens`;
      return `${tryOf(event.data)} ${status}${files}${used}`;
    }
    case "worker.feedback": {
      const { try: number, success, passed, total } = event.data;
      const tests = total === 0 ? "" : `, ${passed} of ${total} tests`;
      return `try ${number}: ${success ? "passed" : "did not pass"}${tests}`;
    }
    default:
      return undefined;
  }
}

/** What a worker waits for, in the words of every list. Pure. */
export function waitingWords({ until }: { readonly until: number }): string {
  const moment = new Date(until).toISOString().slice(0, 16).replace("T", " ");
  return `waiting: rate limit until ${moment} UTC`;
}

/** Which try of which member. Pure. */
function tryOf({ try: number, member }: Pick<EventData<"worker.spawn">, "try" | "member">): string {
  return `try ${number}: ${member}`;
}

/** What a row says after the status that the event sets. Pure. */
function wordsAfterStatus(event: PlatformEvent): string | undefined {
  if (!(event.type in STATUS_AFTER)) return wordsOf(event);
  switch (event.type) {
    case "port.failed":
    case "port.recalled":
      return event.data.because;
    case "port.blocked":
      return `by ${event.data.by}`;
    default:
      return "";
  }
}

export function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}
