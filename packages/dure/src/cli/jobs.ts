import type {
  DureClient,
  Job,
  JobDetail,
  JobOutcome,
  JobRequest,
  JobsFilter,
  JobStatus,
  JobTurn,
  JobWords,
} from "../client/index.ts";
import { systemClock } from "../kernel/clock.ts";
import { isAbort } from "../kernel/errors.ts";
import { displayWidth, EXIT, type ExitCode, type Output } from "./output.ts";
import type { PlatformEvent } from "../wire/events.ts";

export interface JobsCommand {
  readonly client: DureClient;
  readonly output: Output;
}

/** How a job ended, for who reads it in a terminal. */
const OUTCOME_WORDS = {
  max_turns: "all turns were used",
  explicit_skip: "an agent ended it",
  conclusion: "both had said what there was to say",
  repetition: "an agent began to repeat itself",
  empty_reply: "an agent had nothing more to say",
  minimal_content: "a reply was too short to go on from",
  no_reply: "the asked agent did not answer in time",
  blocked: "the asked agent was busy for too long",
  turn_timeout: "a turn took too long",
  agent_error: "an agent failed",
  agent_removed: "an agent is no longer in the team",
  budget: "the budget was used up",
  cancelled: "it was cancelled",
  stale: "it made no progress for too long",
  resume_limit: "it was resumed too often without progress",
} as const satisfies Record<JobOutcome, string>;

const OVER: ReadonlySet<JobStatus> = new Set(["COMPLETED", "FAILED", "CANCELLED", "ABANDONED"]);
/** Characters of a message in a list. */
const EXCERPT = 60;

export async function listJobs(
  filter: JobsFilter,
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const page = await client.jobs.list(filter);
  showTable(page.items, output);

  if (page.items.length === 0) {
    output.note(
      "There is no such job. Agents make them with ask_agent, you with: dure jobs ask AGENT TARGET MESSAGE",
    );
  }

  if (page.nextCursor !== null) output.note(`There are more: --cursor ${page.nextCursor}`);
  output.result(page);

  return EXIT.ok;
}

export async function showJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.get(id);
  const transcript = new Transcript(output);
  transcript.begin(job);
  if (OVER.has(job.status)) transcript.end(job);
  else output.line(standingOf(job));
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
      if (job && !OVER.has(job.status)) line.show(job);
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
  const answer = await client.jobs.ask(request, { idempotencyKey: key });
  output.result(answer);

  switch (answer.status) {
    case "ok":
      output.line(answer.reply);
      return EXIT.ok;
    case "accepted":
      output.line(answer.jobId);
      output.note(`It goes on in the background: dure jobs watch ${answer.jobId}`);
      return EXIT.ok;
    case "timeout":
      output.note(`There is no answer yet; it goes on: dure jobs watch ${answer.jobId}`);
      return EXIT.failed;
    case "error":
      output.note(`${answer.code} ${answer.hint} (${answer.jobId})`);
      return EXIT.failed;
  }
}

export async function cancelJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.cancel(id);
  output.line(`${id} is cancelled, with all that it asked for`);
  output.result(job);

  return EXIT.ok;
}

export async function retryJob(id: string, { client, output }: JobsCommand): Promise<ExitCode> {
  const job = await client.jobs.retry(id);
  output.line(job.jobId);

  output.note(
    `It begins in turn ${job.turnsDone + 1}, behind the finished turns of ${id}: dure jobs watch ` +
      job.jobId,
  );

  output.result(job);

  return EXIT.ok;
}

export async function speakIntoJob(
  id: string,
  text: string,
  { client, output, person }: JobsCommand & { readonly person: string | undefined },
): Promise<ExitCode> {
  await client.jobs.speak(id, text, { asPerson: person });
  output.line(`${id}: the next turn hears it`);
  output.result({ job_id: id, status: "heard" });

  return EXIT.ok;
}

export async function purgeJobs(
  olderThan: string,
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const removed = await client.jobs.purge(olderThan);
  output.line(
    `${removed} finished ${removed === 1 ? "job" : "jobs"} older than ${olderThan} removed`,
  );
  output.result({ removed });

  return EXIT.ok;
}

const WHY = {
  stuck: "stuck: no progress for a while. dure jobs show tells where; cancel ends it.",
  orphaned: "orphaned: no process leads it at this moment. Another process takes it within 10 s.",
  "resumed-often": "resumed often: something ends its process, or it does not get ahead.",
} as const;

/** Jobs that an operator should look at; 1 when there are some. */
export async function auditJobs(
  filter: { stuck?: string | undefined },
  { client, output }: JobsCommand,
): Promise<ExitCode> {
  const items = await client.jobs.audit(filter);
  for (const job of items) {
    output.line(
      `${job.jobId}  ${job.requesterName} → ${job.targetName}, turn ${job.turnsDone + 1}, resumed ` +
        `${job.resumes} times\n  ${WHY[job.why]}`,
    );
  }

  if (items.length === 0) output.line("all jobs are in order");
  output.result({ items });

  return items.length === 0 ? EXIT.ok : EXIT.failed;
}

function showTable(jobs: readonly Job[], output: Output): void {
  if (jobs.length === 0) return;
  const rows = jobs.map((job) => [
    job.jobId,
    new Date(job.createdAt).toISOString().slice(0, 19),
    job.status,
    job.outcome ?? (job.waiting ? `waits for a ${job.waiting}` : "–"),
    `${job.requesterName} → ${job.targetName}`,
    `${job.turnsDone}/${job.maxTurns}`,
    excerpt(job.message),
  ]);

  output.table([["id", "made", "status", "outcome", "who", "turns", "message"], ...rows]);
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
          this.#line(`  resumed at turn ${event.data.turn} of ${most} after a restart`);
        }
        return;
      case "job.waiting":
        return this.#line("  waits for a person's answer: dure escalations");
      default:
        return;
    }
  }

  end(job: JobDetail): void {
    const error =
      job.lastError && job.status !== "COMPLETED"
        ? ` (${job.lastError.code}: ${job.lastError.message})`
        : "";

    this.#line(`${job.status}: ${job.outcome === null ? "" : OUTCOME_WORDS[job.outcome]}${error}`);

    const spent = [
      `${job.turnsDone} ${job.turnsDone === 1 ? "turn" : "turns"}`,
      `${this.#tokens} tokens`,
    ];

    if (this.#microUsd > 0) spent.push(`${(this.#microUsd / 1e6).toFixed(4)} USD`);
    if (job.startedAt && job.finishedAt) spent.push(seconds(job.finishedAt - job.startedAt));
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
      `${turn.number} ${nameIn(job, turn.speaker)}: ${indented(turn.text || "(no words)")}`,
    );
  }

  /** Words come by the job and by their event; they are shown once. */
  #spoken({ id, author, text }: Pick<JobWords, "id" | "author" | "text">): void {
    if (this.#shownWords.has(id)) return;
    this.#shownWords.add(id);
    this.#line(`  ${author} speaks into it: ${indented(text)}`);
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

    const draw = (): void => {
      this.#erase();
      this.#text = `… ${standingOf(job)} (${seconds(Math.max(systemClock.now() - since, 0))})`;
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
function standingOf(job: Job): string {
  if (job.status === "PENDING") return `${job.targetName} has other exchanges first`;
  if (job.waiting) return "a person's answer is waited for: dure escalations";

  const turn = job.turnsDone + 1;

  return (
    `${nameIn(job, turn % 2 === 1 ? job.target : job.requester)} is at turn ${turn} of ` +
    `${Math.max(job.maxTurns, 1)}`
  );
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

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}
