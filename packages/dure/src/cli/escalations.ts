import type {
  DureClient,
  Escalation,
  EscalationAnswer,
  EscalationsFilter,
  PlatformEvent,
} from "../client/index.ts";
import { SOURCE_KINDS } from "../kernel/escalation.ts";
import { isAbort } from "../kernel/errors.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface Command {
  readonly client: DureClient;
  readonly output: Output;
}

const RANK = { critical: 0, high: 1, medium: 2, low: 3 } as const satisfies Record<
  Escalation["severity"],
  number
>;

/** Escalations that one list shows at most. */
const SHOWN = 200;

/** What waits for a decision, a page at a time: of the newest the most severe first. */
export async function listEscalations(
  filter: EscalationsFilter,
  { client, output }: Command,
): Promise<ExitCode> {
  const page = await client.escalations({ ...filter, limit: SHOWN });
  const items = page.items.toSorted((a, b) => RANK[a.severity] - RANK[b.severity]);
  for (const item of items) showLine(item, output);

  if (items.length === 0) {
    output.line(
      filter.status === "open"
        ? "nothing waits for a decision"
        : `there is none that is ${filter.status}`,
    );
  }

  if (page.nextCursor !== null) {
    const gravest =
      filter.severity === undefined ? "; the gravest of all: --severity critical" : "";
    output.note(
      `These are the newest ${items.length}. There are more: --cursor ${page.nextCursor}${gravest}`,
    );
  }

  output.result({ items, nextCursor: page.nextCursor });

  return EXIT.ok;
}

export async function showEscalation(id: string, { client, output }: Command): Promise<ExitCode> {
  const escalation = await client.escalation(id);
  const {
    type,
    severity,
    status,
    title,
    description,
    context,
    source,
    step,
    suggestedActions,
    expiresAt,
  } = escalation;

  output.line(`${title}\n${severity} ${type}, ${status}, raised ${timeOf(escalation.createdAt)}`);
  if (description !== "") output.line(`\n${description}\n`);
  const isOpen = status === "open";
  const until = isOpen ? expiresAt : null;

  output.table([
    ...SOURCE_KINDS.flatMap((kind) => (source[kind] === undefined ? [] : [[kind, source[kind]]])),
    ...Object.entries(context).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
    ...(isOpen ? [["with", WITH[step]]] : []),
    ...(until === null ? [] : [["until", timeOf(until)]]),
  ]);

  if (!isOpen) output.line(endOf(escalation));
  else {
    for (const { value, label, asks } of suggestedActions) {
      output.line(
        `  dure escalations answer ${id} ${value}${asks ? " --note '…'" : ""}   ${label}`,
      );
    }
  }

  output.result(escalation);

  return EXIT.ok;
}

const WITH = {
  worker: "no person has been told yet",
  operator: "the operator agent",
  person: "people",
} as const satisfies Record<Escalation["step"], string>;

export async function answerEscalation(
  id: string,
  answer: EscalationAnswer,
  { client, output }: Command,
): Promise<ExitCode> {
  const answered = await client.answerEscalation(id, answer);
  output.line(
    `${id}: ${answer.value}${answered.turnId === null ? "" : `; turn ${answered.turnId} goes on`}`,
  );
  output.result(answered);

  return EXIT.ok;
}

export async function dismissEscalation(
  id: string,
  note: string | undefined,
  { client, output }: Command,
): Promise<ExitCode> {
  const escalation = await client.dismissEscalation(id, { note });
  output.line(`${id}: dismissed`);
  output.result(escalation);

  return EXIT.ok;
}

/**
 * What waits, then what is raised and how it ends, until it is interrupted. With `--json` one event
 * per line.
 */
export async function watchEscalations({ client, output }: Command): Promise<ExitCode> {
  const over = new AbortController();
  const interrupted = (): void => over.abort();
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  let isFirst = true;

  const showOpen = async (): Promise<void> => {
    const { items } = await client.escalations(
      { status: "open", limit: SHOWN },
      { signal: over.signal },
    );

    for (const item of items.toReversed()) showLine(item, output);
    output.note(items.length === 0 ? "Nothing waits for a decision; watching." : "Watching.");
  };

  try {
    // Connected first, so that nothing falls between the list and the events.
    const onConnection = (state: string): void => {
      if (state !== "connected" || !isFirst) return;
      isFirst = false;
      showOpen().catch((error: unknown) => over.abort(error));
    };
    for await (const event of client.events(
      { types: ["escalation.*"] },
      { signal: over.signal, onConnection },
    )) {
      output.line(newsOf(event));
      output.result(event);
    }
  } catch (error) {
    const reason: unknown = over.signal.aborted ? over.signal.reason : error;
    if (!isAbort(reason)) throw reason;
  } finally {
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  }

  return EXIT.ok;
}

function showLine(item: Escalation, output: Output): void {
  const answers =
    item.status === "open"
      ? `answers: ${item.suggestedActions.map(({ value, label }) => `${value} (${label})`).join(", ")}`
      : endOf(item);
  output.line(
    `${item.id}  ${item.severity}  ${item.type}  ${timeOf(item.createdAt)}\n  ${item.title}\n  ${answers}`,
  );
}

/** `resolved: approve by mina: "only this once"`. Pure. */
function endOf({ status, resolution, resolvedBy, resolvedByPerson }: Escalation): string {
  const who = resolvedByPerson ?? resolvedBy;
  if (!resolution) return status;

  const { value, note } = resolution;
  const by = who === null ? "" : ` by ${who}`;
  const words = note === undefined ? "" : `: "${note}"`;

  return `${status}: ${value}${by}${words}`;
}

/** One line for one event. Pure. */
function newsOf(event: PlatformEvent): string {
  const id = "id" in event.data ? String(event.data.id) : "";
  return `${timeOf(event.at)}  ${event.type}  ${id}  ${changeIn(event)}`;
}

function changeIn(event: PlatformEvent): string {
  switch (event.type) {
    case "escalation.new":
    case "escalation.worsened":
      return `${event.data.severity}: ${event.data.title}`;
    case "escalation.routed":
      return `is with the ${event.data.step}`;
    case "escalation.resolved":
      return `${event.data.value} by ${event.data.by}`;
    case "escalation.dismissed":
      return `dismissed (${event.data.value}) by ${event.data.by}`;
    default:
      return "";
  }
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19);
}
