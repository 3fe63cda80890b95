import type {
  DureClient,
  Job,
  JobDetail,
  JobRequest,
  JobsFilter,
  JobTurn,
  JobWords,
} from "../client/index.ts";
import { systemClock } from "../kernel/clock.ts";
import { isAbort } from "../kernel/errors.ts";
import { isJobOver } from "../kernel/jobs.ts";
import { displayWidth, EXIT, momentOf, type ExitCode, type Output } from "./output.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { CliWords } from "./words/words.ts";

type JobTexts = CliWords["work"]["job"];

export interface JobsCommand {
  readonly client: DureClient;
  readonly output: Output;
}

/** Characters of a message in a list. */
const EXCERPT = 60;

export async function listJobs(
  filter: JobsFilter,
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const page = await client.jobs.list(filter);
  showTable(page.items, output);

  if (page.items.length === 0) {
    output.note(output.words.work.job.none);
  }

  if (page.nextCursor !== null) output.note(output.words.general.more(page.nextCursor));
  output.result(page);

  return EXIT.ok;
}

export async function showJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.get(id);
  const transcript = new Transcript(output);
  transcript.begin(job);
  if (isJobOver(job.status)) transcript.end(job);
  else output.line(standingOf(job, output.words));
  output.result(job);

  return EXIT.ok;
}

/**
 * The job as it stands, then what happens; 1 when it ends otherwise than completed. On a terminal
 * the last line is updated.
 */
export async function watchJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const over = new AbortController();
  const interrupted = (): void => over.abort();
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  const line = new LivingLine(output);
  const transcript = new Transcript(output, () => line.clear());
  let job: JobDetail | undefined;

  try {
    for await (const news of client.jobs.stream(id, { signal: over.signal })) {
      output.result(news.kind === "job" ? { type: "job", data: news.job } : news.event);
      if (news.kind === "job") transcript.begin((job = news.job));
      else if (job) transcript.event((job = standingAfter(job, news.event)), news.event);
      if (job && !isJobOver(job.status)) line.show(job);
    }
    line.clear();
    const ended = await client.jobs.get(id, { signal: over.signal });
    transcript.end(ended);
    return ended.status === "COMPLETED" ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!over.signal.aborted && !isAbort(error)) throw error;
    return EXIT.ok;
  } finally {
    line.clear();
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  }
}

/** Prints the answer; 1 when there is none: the exchange failed, or takes longer than one waits. */
export async function askJob(
  request: JobRequest,
  key: string | undefined,
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const { job: words } = output.words.work;
  const answer = await client.jobs.ask(request, { idempotencyKey: key });
  output.result(answer);

  switch (answer.status) {
    case "ok":
      output.line(answer.reply);
      return EXIT.ok;
    case "accepted":
      output.line(answer.jobId);
      output.note(words.goesOn(answer.jobId));
      return EXIT.ok;
    case "timeout":
      output.note(words.noAnswer(answer.jobId));
      return EXIT.failed;
    case "error":
      output.note(`${answer.code} ${output.words.said(answer.hint)} (${answer.jobId})`);
      return EXIT.failed;
  }
}

export async function cancelJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.cancel(id);
  output.line(output.words.work.job.cancelled(id));
  output.result(job);

  return EXIT.ok;
}

export async function retryJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.retry(id);
  output.line(job.jobId);

  output.note(output.words.work.job.retried(job.turnsDone + 1, id));

  output.result(job);

  return EXIT.ok;
}

export async function speakIntoJob(
  id: string,
  text: string,
  { client, output, person }: JobsCommand & { readonly person: string | undefined },
): Promise<ExitCode> {
  await client.jobs.speak(id, text, { asPerson: person });
  output.line(output.words.work.job.heard(id));
  output.result({ job_id: id, status: "heard" });

  return EXIT.ok;
}

export async function purgeJobs(
  olderThan: string,
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const removed = await client.jobs.purge(olderThan);
  output.line(output.words.work.job.purged(removed, olderThan));
  output.result({ removed });

  return EXIT.ok;
}

/** Jobs that an operator should look at; 1 when there are some. */
export async function auditJobs(
  filter: { stuck?: string | undefined },
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const { job: words } = output.words.work;
  const items = await client.jobs.audit(filter);
  for (const job of items) {
    const who = `${job.requesterName} → ${job.targetName}`;
    const standing = words.audited(job.turnsDone + 1, job.resumes);
    output.line(`${job.jobId}  ${who}, ${standing}\n  ${words.why[job.why]}`);
  }

  if (items.length === 0) output.line(words.inOrder);
  output.result({ items });

  return items.length === 0 ? EXIT.ok : EXIT.failed;
}

function showTable(jobs: readonly Job[], output: Output): void {
  if (jobs.length === 0) return;
  const { job: words } = output.words.work;
  const rows = jobs.map((job) => [
    job.jobId,
    momentOf(job.createdAt),
    words.status(job.status),
    outcomeOf(job, words),
    `${job.requesterName} → ${job.targetName}`,
    `${job.turnsDone}/${job.maxTurns}`,
    excerpt(job.message),
  ]);

  output.table([words.head, ...rows]);
}

function outcomeOf({ outcome, waiting }: Job, words: JobTexts): string {
  if (outcome !== null) return words.outcome(outcome);
  return waiting ? words.waitsFor(waiting) : "–";
}

function excerpt(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > EXCERPT ? `${line.slice(0, EXCERPT).toWellFormed()}…` : line;
}

/** What is said in an exchange, each line once and in its order. */
class Transcript {
  readonly #output: Output;
  readonly #before: () => void;
  readonly #shownWords = new Set<number>();
  #shownTurns = -1;
  #tokens = 0;
  #microUsd = 0;

  /** @param before is called before each line. */
  constructor(output: Output, before: () => void = () => undefined) {
    this.#output = output;
    this.#before = before;
  }

  /** The request and the turns so far. Called again, it shows what is new. */
  begin(job: JobDetail): void {
    if (this.#shownTurns < 0) {
      this.#line(
        `${job.jobId}  ${job.requesterName} → ` +
          `${job.targetName}${job.topic === null ? "" : `  (${job.topic})`}`,
      );
      this.#line(`${job.requesterName}: ${indented(job.message)}`);
      this.#shownTurns = 0;
    }

    for (const turn of job.turns) {
      for (const words of job.words) if (words.turn === turn.number) this.#spoken(words);
      if (turn.number > this.#shownTurns) this.#turn(job, turn);
    }

    for (const words of job.words) {
      if (words.turn === null || words.turn > job.turnsDone) this.#spoken(words);
    }
  }

  event(job: JobDetail, event: PlatformEvent): void {
    switch (event.type) {
      case "job.turn":
        if (event.data.number > this.#shownTurns) this.#turn(job, event.data);
        return;
      case "job.spoken": {
        const { id, by, text } = event.data;
        return this.#spoken({ id, author: by, text });
      }
      case "job.started":
        if (event.data.resumed) {
          const most = Math.max(job.maxTurns, 1);
          this.#line(`  ${this.#words.resumed(event.data.turn, most)}`);
        }
        return;
      case "job.waiting":
        return this.#line(`  ${this.#words.waits}`);
      default:
        return;
    }
  }

  end(job: JobDetail): void {
    const error =
      job.lastError && job.status !== "COMPLETED"
        ? ` (${job.lastError.code}: ${this.#output.words.said(job.lastError.message)})`
        : "";

    const words = this.#words;
    const outcome = job.outcome === null ? "" : words.outcomes[job.outcome];
    this.#line(`${words.status(job.status)}: ${outcome}${error}`);

    const spent = [words.turns(job.turnsDone), words.tokens(this.#tokens)];

    if (this.#microUsd > 0) spent.push(`${(this.#microUsd / 1e6).toFixed(4)} USD`);
    if (job.startedAt && job.finishedAt) {
      spent.push(seconds(job.finishedAt - job.startedAt, words));
    }
    this.#line(spent.join(", "));
  }

  #turn(
    job: Job,
    turn: Pick<JobTurn, "number" | "speaker" | "text" | "tokensIn" | "tokensOut" | "costMicroUsd">,
  ): void {
    this.#shownTurns = turn.number;
    this.#tokens += turn.tokensIn + turn.tokensOut;
    this.#microUsd += turn.costMicroUsd ?? 0;
    this.#line(
      `${turn.number} ${nameIn(job, turn.speaker)}: ${indented(turn.text || this.#words.noWords)}`,
    );
  }

  /** Words come by the job and by their event; they are shown once. */
  #spoken({ id, author, text }: Pick<JobWords, "id" | "author" | "text">): void {
    if (this.#shownWords.has(id)) return;
    this.#shownWords.add(id);
    this.#line(`  ${this.#words.speaks(author, indented(text))}`);
  }

  get #words(): JobTexts {
    return this.#output.words.work.job;
  }

  #line(text: string): void {
    this.#before();
    this.#output.line(text);
  }
}

/** On a terminal: the working agent and its time, in one line that is redrawn each second. */
class LivingLine {
  readonly #output: Output;
  #text = "";
  #stop: (() => void) | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  show(job: Job): void {
    this.clear();
    if (!this.#output.isTerminal) return;

    const since =
      job.status === "PENDING" ? job.createdAt : (job.turnStartedAt ?? systemClock.now());

    const { words } = this.#output;
    const draw = (): void => {
      this.#erase();
      const span = seconds(Math.max(systemClock.now() - since, 0), words.work.job);
      this.#text = `… ${standingOf(job, words)} (${span})`;
      this.#output.write(this.#output.colors.dim(this.#text));
    };

    draw();
    this.#stop = systemClock.every(1_000, draw);
  }

  clear(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#erase();
  }

  #erase(): void {
    if (this.#text === "") return;

    const lines = Math.ceil(displayWidth(this.#text) / (this.#output.streams.stdout.columns || 80));
    this.#output.erase(lines);
    this.#text = "";
  }
}

/** With these a turn begins; the next one behind the end of the last. */
const BEGINNINGS: ReadonlySet<string> = new Set(["job.started", "job.turn"]);

function isOfJob(event: PlatformEvent): event is Extract<PlatformEvent, { type: `job.${string}` }> {
  return event.type.startsWith("job.");
}

/** What of a job an event changes. Pure. */
function standingAfter(job: JobDetail, event: PlatformEvent): JobDetail {
  if (!isOfJob(event)) return job;
  const { status, turnsDone } = event.data;

  return {
    ...job,
    status,
    turnsDone: Math.max(job.turnsDone, turnsDone),
    waiting: event.type === "job.waiting" ? "person" : null,
    turnStartedAt: BEGINNINGS.has(event.type) ? event.at : job.turnStartedAt,
  };
}

/** Who has to do something. Pure. */
function standingOf(job: Job, { work: { job: words } }: CliWords): string {
  if (job.status === "PENDING") return words.busy(job.targetName);
  if (job.waiting) return words.waited;

  const turn = job.turnsDone + 1;
  const agent = nameIn(job, turn % 2 === 1 ? job.target : job.requester);

  return words.isAt(agent, turn, Math.max(job.maxTurns, 1));
}

function nameIn(job: Job, agent: string): string {
  return agent === job.target
    ? job.targetName
    : agent === job.requester
      ? job.requesterName
      : agent;
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n    ");
}

function seconds(ms: number, words: JobTexts): string {
  return words.seconds(ms < 10_000 ? (ms / 1_000).toFixed(1) : String(Math.round(ms / 1_000)));
}
