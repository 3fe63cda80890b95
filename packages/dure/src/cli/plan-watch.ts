import { Listr } from "listr2";
import type { EventData, PlanPort, PlatformEvent, PortStatus, RunDetail } from "../client/index.ts";
import { harmless } from "./harmless.ts";
import type { Output } from "./output.ts";
import type { CliWords } from "./words/words.ts";

/** Shows a run to its reader while it goes on. */
export interface RunWatch {
  /** What becomes of the result is asked afterwards. */
  readonly asksMerge?: boolean | undefined;
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
export class Lines implements RunWatch {
  readonly #output: Output;
  #isBegun = false;

  constructor(output: Output) {
    this.#output = output;
  }

  begin(run: RunDetail): void {
    if (this.#isBegun) return;

    this.#isBegun = true;
    const { id: runId, plan, status: runStatus, phase, ports } = run;
    const { plans: words, reason } = this.#output.words;
    const standing = `${words.runStatus(runStatus)} (${words.phase(phase)})`;
    this.#output.line(`${runId}  ${plan}  ${standing}, ${words.ports(ports.length)}`);

    for (const { id, status, because } of ports) {
      if (status === "waiting") continue;
      const why = because ? `: ${reason(because)}` : "";
      this.#output.line(`${id}  ${words.portStatus(status)}${why}`);
    }
  }

  event(event: PlatformEvent): void {
    const line = lineOf(event, this.#output.words);
    if (line !== undefined) this.#output.line(line);
  }

  async end(): Promise<void> {}
}

interface WatchedPort {
  readonly ended: PromiseWithResolvers<PortStatus>;
  status: PortStatus;
  words: string;
  task: { title?: string } | undefined;
}

/** A row per port, all alive until the run ends: a port that failed may be tried again. */
class LiveList implements RunWatch {
  readonly #rows = new Map<string, WatchedPort>();
  readonly #drawn: Promise<void>;
  readonly #notes: string[] = [];
  readonly #output: Output;
  #isOver = false;

  constructor(run: RunDetail, output: Output) {
    this.#output = output;
    for (const { id, status } of run.ports) {
      this.#rows.set(id, { ended: Promise.withResolvers(), status, words: "", task: undefined });
    }

    const { plans: words } = output.words;
    const tasks = run.ports.map(({ id }) => {
      const row = this.#rows.get(id)!;
      return {
        title: titleOf(id, row, words),
        task: async (
          _: unknown,
          task: { title?: string; skip(message?: string): void },
        ): Promise<void> => {
          row.task = task;
          task.title = titleOf(id, row, words);
          const status = await row.ended.promise;
          if (status === "failed") throw new Error(titleOf(id, row, words));

          if (status !== "succeeded") task.skip(titleOf(id, row, words));
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
    for (const { id, status, because } of run.ports) this.#set(id, status, this.#why(because));
  }

  event(event: PlatformEvent): void {
    if (event.type === "escalation.new") {
      return void this.#notes.push(lineOf(event, this.#output.words)!);
    }

    const port = portOf(event);
    const row = port === undefined ? undefined : this.#rows.get(port);
    if (port === undefined || row === undefined) return;

    const status = STATUS_AFTER[event.type] ?? row.status;
    this.#set(port, status, wordsAfterStatus(event, this.#output.words) ?? row.words);
  }

  async end(run: RunDetail | undefined): Promise<void> {
    if (this.#isOver) return;

    this.#isOver = true;
    for (const { id, status, because } of run?.ports ?? []) {
      this.#set(id, status, this.#why(because));
    }
    for (const row of this.#rows.values()) row.ended.resolve(run ? row.status : "cancelled");
    await this.#drawn;
    for (const note of this.#notes) this.#output.line(note);
  }

  #why(because: RunDetail["ports"][number]["because"]): string {
    return because ? this.#output.words.reason(because) : "";
  }

  #set(id: string, status: PortStatus, words: string): void {
    const row = this.#rows.get(id)!;
    row.status = status;
    row.words = words;
    if (row.task) row.task.title = titleOf(id, row, this.#output.words.plans);
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

function titleOf(
  id: string,
  { status, words }: WatchedPort,
  { portStatus }: CliWords["plans"],
): string {
  // The list draws itself, past the output.
  return harmless(`${id}  ${portStatus(status)}${words === "" ? "" : `: ${words}`}`);
}

/** An event as a line; undefined for what says nothing new to a person. Pure. */
function lineOf(event: PlatformEvent, language: CliWords): string | undefined {
  const words = wordsOf(event, language);
  if (words === undefined) return undefined;

  const at = new Date(event.at).toISOString().slice(11, 19);
  const port = event.type === "escalation.new" ? undefined : portOf(event);

  return port === undefined ? `${at}  ${words}` : `${at}  ${port}  ${words}`;
}

/** What an event says, without the port's name; undefined for what says nothing new. Pure. */
function wordsOf(event: PlatformEvent, words: CliWords): string | undefined {
  return wordsOfRun(event, words) ?? wordsOfPort(event, words) ?? wordsOfWorker(event, words.plans);
}

function wordsOfRun(
  event: PlatformEvent,
  { plans: { event: words }, said }: CliWords,
): string | undefined {
  switch (event.type) {
    case "run.start":
      return words.begins;
    case "run.pause":
      return words.paused;
    case "run.resume":
      return words.resumed;
    case "run.refused":
      return words.refused(event.data.by, said(event.data.because));
    case "run.cancel":
      return words.cancelling;
    case "run.waiting_host":
      return words.waitingHost;
    case "run.end": {
      const { outcome, because } = event.data;
      return words.ended(outcome, because === undefined ? undefined : said(because));
    }
    case "merge.done":
      return event.data.branch ? words.merged(event.data.branch) : words.nothingToMerge;
    case "escalation.new":
      return words.asks(titleIn(event.data.title, said), event.data.id);
    default:
      return undefined;
  }
}

/** A sentence of dure may stand behind the names of a plan and a port. Pure. */
export function titleIn(title: string, said: CliWords["said"]): string {
  const [, names = "", sentence = title] = /^([^:]+: )(.+)$/s.exec(title) ?? [];
  const behind = said(sentence);
  return behind === sentence ? said(title) : `${names}${behind}`;
}

function wordsOfPort(
  event: PlatformEvent,
  { plans: { event: words }, said }: CliWords,
): string | undefined {
  switch (event.type) {
    case "port.start":
      return words.starts(event.data.attempt);
    case "port.success":
      return words.succeeded;
    case "port.held":
      return words.held;
    case "port.failed":
      return words.failed(said(event.data.because));
    case "port.blocked":
      return words.blocked(event.data.by);
    case "port.recalled":
      return words.recalled(said(event.data.because));
    default:
      return undefined;
  }
}

function wordsOfWorker(event: PlatformEvent, plans: CliWords["plans"]): string | undefined {
  const { event: words } = plans;
  switch (event.type) {
    case "worker.spawn":
      return words.works(tryOf(event.data, plans), event.data.worker);
    case "worker.progress": {
      const { progress, task } = event.data;
      return words.progress(tryOf(event.data, plans), Math.round(progress * 100), task ?? "");
    }
    case "worker.stalled":
      return words.stalled(
        tryOf(event.data, plans),
        seconds(event.data.silentMs, plans),
        event.data,
      );
    case "worker.waiting":
      return `${tryOf(event.data, plans)} ${waitingWords(event.data, plans)}`;
    case "worker.complete": {
      const { status, changed, tokens } = event.data;
      return words.complete(tryOf(event.data, plans), { status, changed, tokens });
    }
    case "worker.feedback": {
      const { try: number, success, passed, total } = event.data;
      return words.feedback(number, { success, passed, total });
    }
    default:
      return undefined;
  }
}

type StepWait = Pick<NonNullable<PlanPort["waiting"]>, "for" | "status" | "until">;

/** What a worker waits for, in the words of every list. Pure. */
export function waitingWords(waiting: StepWait, { event: words }: CliWords["plans"]): string {
  const { until } = waiting;
  const moment =
    until === null ? undefined : new Date(until).toISOString().slice(0, 16).replace("T", " ");

  return words.waiting({ ...waiting, moment });
}

/** Which try of which member. Pure. */
function tryOf(
  { try: number, member }: Pick<EventData<"worker.spawn">, "try" | "member">,
  { event: words }: CliWords["plans"],
): string {
  return words.tryOf(number, member);
}

/** What a row says after the status that the event sets. Pure. */
function wordsAfterStatus(event: PlatformEvent, words: CliWords): string | undefined {
  if (!(event.type in STATUS_AFTER)) return wordsOf(event, words);
  switch (event.type) {
    case "port.failed":
    case "port.recalled":
      return words.said(event.data.because);
    case "port.blocked":
      return words.plans.event.by(event.data.by);
    default:
      return "";
  }
}

export function seconds(ms: number, words: CliWords["plans"]): string {
  return words.seconds(ms < 10_000 ? (ms / 1_000).toFixed(1) : String(Math.round(ms / 1_000)));
}
