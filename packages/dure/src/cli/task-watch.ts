import { codeOf } from "../kernel/errors.ts";
import { systemClock, type Cancel } from "../kernel/clock.ts";
import type { DureClient, PlatformEvent, RunDetail } from "../client/index.ts";
import { displayWidth, type Output } from "./output.ts";
import { transcriptWords } from "./plan-log.ts";
import { Lines, type RunWatch } from "./plan-watch.ts";

/** What a worker says is looked for so often, milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** Lines of one thing that it said or did. */
const MAX_LINES = 6;
/** Columns of a line where no terminal says how wide it is. */
const COLUMNS = 200;
/** What a person said themselves, or events tell. */
const TOLD: ReadonlySet<string> = new Set(["prompt", "end"]);
/** Of a task. */
const PORT = "task";

/**
 * The run of a task with what its worker says and does, while it does it: lines that are added, and
 * none that is drawn again. Nothing with `--json`, which has the events.
 */
export class TaskWatch implements RunWatch {
  readonly asksMerge = true;
  readonly #client: DureClient;
  readonly #output: Output;
  readonly #lines: Lines;
  #run: string | undefined;
  #after = 0;
  #looking: Promise<void> | undefined;
  #cancel: Cancel = () => {};
  #isOver = false;

  constructor(client: DureClient, output: Output) {
    this.#client = client;
    this.#output = output;
    this.#lines = new Lines(output);
  }

  begin(run: RunDetail): void {
    this.#lines.begin(run);
    if (this.#run !== undefined || this.#output.json) return;
    this.#run = run.id;
    this.#cancel = systemClock.every(LOOK_EVERY_MS, () => void this.#look());
  }

  /** The transcript says more than a progress does. */
  event(event: PlatformEvent): void {
    if (event.type !== "worker.progress") this.#lines.event(event);
  }

  async end(run: RunDetail | undefined): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel();
    await this.#looking;
    if (run !== undefined) await this.#look();
  }

  /** One look at a time. A failed one follows again. */
  #look(): Promise<void> {
    this.#looking ??= this.#read().finally(() => (this.#looking = undefined));

    return this.#looking;
  }

  async #read(): Promise<void> {
    try {
      for (let hasMore = this.#run !== undefined; hasMore;) {
        const page = await this.#client.plans.transcript(this.#run!, PORT, { after: this.#after });
        this.#after = page.next;
        hasMore = page.hasMore;
        const said = page.lines.filter(({ kind }) => !TOLD.has(kind));
        for (const line of said) this.#say(transcriptWords(line));
      }
    } catch (error) {
      this.#output.note(codeOf(error) ?? String(error));
    }
  }

  #say(lines: readonly string[]): void {
    const { stdout } = this.#output.streams;
    const columns = this.#output.isTerminal ? stdout.columns || COLUMNS : COLUMNS;
    const more = lines.length > MAX_LINES ? ["  …"] : [];
    for (const line of [...lines.slice(0, MAX_LINES), ...more]) {
      this.#output.line(this.#output.colors.dim(cutTo(line, columns - 1)));
    }
  }
}

/** As much of a line as fits into columns. Pure. */
function cutTo(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line;
  let cut = "";
  let width = 0;
  for (const letter of line) {
    width += displayWidth(letter);
    if (width >= columns) break;
    cut += letter;
  }

  return `${cut}…`;
}
