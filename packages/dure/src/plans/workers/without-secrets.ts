import { type ConcealedText, Concealer, type Secret } from "./concealer.ts";
import type { TranscriptEntry, Worker, WorkerEvent, WorkerResult } from "./worker.ts";

/** What one program writes at the same time as it writes the other. */
const PIPES: ReadonlySet<string> = new Set(["stdout", "stderr"]);
/** What comes in pieces, of which a secret may be cut. */
const IN_PIECES: ReadonlySet<string> = new Set([...PIPES, "thought", "message"]);

/**
 * A worker whose words hold none of the secrets that it was given: what it thinks, says and prints
 * is stored and read by people who may not have them. `also`: beside those of its variables.
 */
export function withoutSecrets(worker: Worker, also: readonly Secret[]): Worker {
  return {
    kind: worker.kind,
    run: (assignment, options) => {
      const concealer = new Concealer([...Object.entries(assignment.env), ...also]);
      return concealed(worker.run(assignment, options), concealer);
    },
  };
}

type EntryEvent = Extract<WorkerEvent, { type: "entry" }>;

/** The end of a piece that the next one may complete. */
interface Held {
  readonly text: ConcealedText;
  readonly event: EntryEvent;
}

async function* concealed(
  events: AsyncIterable<WorkerEvent>,
  concealer: Concealer,
): AsyncGenerator<WorkerEvent> {
  const held = new Map<string, Held>();
  for await (const event of events) {
    const piece = event.type === "entry" && IN_PIECES.has(event.entry.kind) ? event : undefined;
    const stream = piece && `${piece.entry.kind} ${piece.entry.title ?? ""}`;
    for (const name of [...held.keys()].filter((one) => isOver(one, stream, event))) {
      const { text, event: last } = held.get(name)!;
      held.delete(name);
      yield* withText(last, text.end());
    }
    if (piece === undefined || stream === undefined) {
      yield wholeEvent(event, concealer);
      continue;
    }
    const text = held.get(stream)?.text ?? concealer.inPieces();
    held.set(stream, { text, event: piece });
    yield* withText(piece, text.push(piece.entry.text));
  }
}

/** Whether an event ends a stream of pieces. Both pipes of a program go on until its end. Pure. */
function isOver(name: string, next: string | undefined, event: WorkerEvent): boolean {
  if (event.type === "result") return true;
  if (event.type !== "entry" || name === next) return false;

  return !PIPES.has(name.split(" ", 1)[0]!) && !PIPES.has(event.entry.kind);
}

function* withText(event: EntryEvent, text: string): Generator<WorkerEvent> {
  if (text !== "") yield { ...event, entry: { ...event.entry, text } };
}

function wholeEvent(event: WorkerEvent, concealer: Concealer): WorkerEvent {
  switch (event.type) {
    case "progress":
      return { ...event, currentTask: concealer.conceal(event.currentTask) };
    case "said":
      return { ...event, text: concealer.conceal(event.text) };
    case "entry":
      return { ...event, entry: wholeEntry(event.entry, concealer) };
    case "violation": {
      const { path, detail } = event;
      const seen = detail === undefined ? undefined : concealer.conceal(detail);
      return { ...event, path: concealer.conceal(path), detail: seen };
    }
    case "access":
      return { ...event, path: concealer.conceal(event.path) };
    case "result":
      return { ...event, result: wholeResult(event.result, concealer) };
    case "provider": {
      const { trouble } = event;
      return {
        ...event,
        trouble: trouble && { ...trouble, says: concealer.conceal(trouble.says) },
      };
    }
    case "cost":
    case "session":
      return event;
    default:
      return event satisfies never;
  }
}

function wholeEntry(entry: TranscriptEntry, concealer: Concealer): TranscriptEntry {
  const { title } = entry;
  const seen = title === undefined ? undefined : concealer.conceal(title);

  return { ...entry, title: seen, text: concealer.conceal(entry.text) };
}

function wholeResult(result: WorkerResult, concealer: Concealer): WorkerResult {
  const { error } = result;
  return {
    ...result,
    summary: concealer.conceal(result.summary),
    claimedFiles: result.claimedFiles.map((path) => concealer.conceal(path)),
    error: error && { ...error, message: concealer.conceal(error.message) },
    feedback: result.feedback && concealer.concealAll(result.feedback),
  };
}
