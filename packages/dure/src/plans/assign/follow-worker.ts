/** Follows a worker until its end, and what it reports. */

import { DureError } from "../../kernel/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type {
  Assignment,
  TranscriptEntry,
  Worker,
  WorkerEvent,
  WorkerResult,
} from "../workers/worker.ts";
import type { Counted } from "../rows/step-log.ts";
import type { WorkerHeartbeats } from "./heartbeats.ts";

/** Characters of a log kept in memory. */
const MAX_LOG = 64_000;

export type Violation = Extract<WorkerEvent, { type: "violation" }>;

/** What a worker came to. */
export interface WorkerEnd {
  readonly result: WorkerResult;
  /** What its signs have counted of it. */
  readonly counted: Counted;
  readonly log: string;
  /** The conversation that its agent had. */
  readonly session?: string | undefined;
}

/** Lets a worker work to its end, and stores its signs. Rejects with the abort of `signal`. */
export async function followWorker(
  worker: Worker,
  assignment: Assignment,
  {
    signs,
    heard = [],
    onViolation,
    signal,
  }: {
    signs: WorkerHeartbeats;
    /** What people said, as its prompt tells it. */
    heard?: readonly string[];
    onViolation: (violation: Violation) => Promise<void>;
    signal: AbortSignal;
  },
): Promise<WorkerEnd> {
  let log = "";
  let result: WorkerResult | undefined;
  let session: string | undefined;
  signs.note({ kind: "prompt", title: assignment.member, text: assignment.prompt });
  for (const text of heard) signs.note({ kind: "heard", title: "operator", text });
  const sandbox = noting(assignment.sandbox, (host) =>
    signs.note({ kind: "refused", title: host, text: "" }),
  );
  try {
    for await (const event of worker.run({ ...assignment, sandbox }, { signal })) {
      log = (log + wordsOf(event)).slice(-MAX_LOG);
      for (const entry of entriesOf(event)) signs.note(entry);
      if (event.type === "session") await signs.session((session = event.id));
      if (event.type === "result") result = event.result;
      if (event.type === "provider") signs.provider(event.trouble);
      if (event.type === "violation") await onViolation(event);
      if (event.type === "progress") await signs.heard(event, log);
    }
  } finally {
    // A leader that has lost the run writes nothing.
    await signs.end(log).catch(() => {});
  }

  if (result) return { result, counted: signs.counted, log, session };
  throw new DureError(
    "WORKER_FAILED",
    `The ${worker.kind} worker of ${assignment.port} ended without a result.`,
  );
}

/** The sandbox of a worker that goes on when its processes are refused a host. */
function noting(sandbox: Sandbox, onRefusal: (host: string) => void): Sandbox {
  return {
    kind: sandbox.kind,
    promises: sandbox.promises,
    spawn: (where, what, options) => sandbox.spawn(where, what, { onRefusal, ...options }),
    run: (where, what, options) => sandbox.run(where, what, { onRefusal, ...options }),
  };
}

/** An event as the log has it. Pure. */
function wordsOf(event: WorkerEvent): string {
  switch (event.type) {
    case "progress":
    case "cost":
    case "entry":
    case "session":
    case "provider":
      return "";
    case "said":
      return event.text.endsWith("\n") ? event.text : `${event.text}\n`;
    case "violation":
      return `refused: ${event.wanted} ${event.path} (${event.because})\n`;
    case "access":
      return `asked: ${event.wants} ${event.path} → ${event.granted ? "granted" : "not now"}\n`;
    case "result":
      return `${event.result.status}: ${event.result.summary}\n`;
    default:
      return event satisfies never;
  }
}

/** What the transcript has of an event. Pure. */
export function entriesOf(event: WorkerEvent): readonly TranscriptEntry[] {
  const cost = event.type === "result" ? costOf(event.result) : undefined;

  return [cost, entryOf(event)].filter((entry) => entry !== undefined);
}

/** What a worker that told it has cost, as the transcript has it. Pure. */
function costOf({ cost, tokens }: WorkerResult): TranscriptEntry | undefined {
  if (!cost) return undefined;
  const title = `${Number(cost.amount.toFixed(4))} ${cost.currency}`;

  return { kind: "cost", title, text: `${tokens.input} tokens in, ${tokens.output} out` };
}

/** An event as the transcript has it; undefined: it has it already, or need not. Pure. */
function entryOf(event: WorkerEvent): TranscriptEntry | undefined {
  switch (event.type) {
    case "progress":
    case "cost":
    case "said":
    case "provider":
      return undefined;
    case "entry":
      return event.entry;
    case "session": {
      const title = event.isResumed ? "resumed" : "new";

      return { kind: "session", title, text: event.id };
    }
    case "violation": {
      const detail = event.detail === undefined ? "" : `\n${event.detail}`;

      return {
        kind: "refused",
        title: `${event.wanted} ${event.path}`,
        text: event.because + detail,
      };
    }
    case "access": {
      const text = event.granted ? "granted" : "not now";

      return { kind: "asked", title: `${event.wants} ${event.path}`, text };
    }
    case "result": {
      const { status, summary, error, tokens } = event.result;
      const about = tokens.isEstimate === true ? "about " : "";
      const used = `${about}${tokens.input} tokens in, ${tokens.output} out`;
      const why = error === undefined ? "" : `${error.code}: ${error.message}\n`;

      return { kind: "end", title: status, text: `${why}${summary}\n${used}`, status };
    }
    default:
      return event satisfies never;
  }
}
