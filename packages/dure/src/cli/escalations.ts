import type {
  DureClient,
  Escalation,
  EscalationAnswer,
  EscalationsFilter,
  PlatformEvent,
} from "../client/index.ts";
import { inLocale } from "../escalations/action-words.ts";
import { SOURCE_KINDS } from "../kernel/escalation.ts";
import { isAbort } from "../kernel/errors.ts";
import { titleIn } from "./plan-watch.ts";
import { EXIT, momentOf, type ExitCode, type Output } from "./output.ts";
import type { CliWords } from "./words/words.ts";

interface EscalationsCommand {
  readonly client: DureClient;
  readonly output: Output;
}

const RANK = { critical: 0, high: 1, medium: 2, low: 3 } as const satisfies Record<
  Escalation["severity"],
  number
>;

/** How what may come with an answer is given. */
const ASKED = { text: " --note '…'", input: " [--input '{…}']" } as const;

/** Escalations that one list shows at most. */
const SHOWN = 200;

/** What waits for a decision, a page at a time: of the newest the most severe first. */
export async function listEscalations(
  filter: EscalationsFilter,
  { client, output }: EscalationsCommand,
): Promise<ExitCode> {
  const { escalation: words } = output.words.work;
  const page = await client.escalations({ ...filter, limit: SHOWN });
  const rank = ({ severity, approval }: Escalation): number =>
    RANK[severity] + (approval?.refused ? 0.5 : 0);
  const items = page.items.toSorted((a, b) => rank(a) - rank(b));
  for (const item of items) showLine(item, output);

  if (items.length === 0) {
    const status = filter.status ?? "open";
    output.line(status === "open" ? words.noneOpen : words.none(words.status(status)));
  }

  if (page.nextCursor !== null) {
    const gravest = filter.severity === undefined ? words.gravest : "";
    output.note(`${words.more(items.length, page.nextCursor)}${gravest}`);
  }

  output.result({ items, nextCursor: page.nextCursor });

  return EXIT.ok;
}

export async function showEscalation(
  id: string,
  { client, output }: EscalationsCommand,
): Promise<ExitCode> {
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
    approval,
  } = escalation;

  const { work, said } = output.words;
  const { escalation: words } = work;
  const standing = { status: words.status(status), at: momentOf(escalation.createdAt) };
  output.line(`${titleIn(title, said)}\n${words.raised(words.severity(severity), type, standing)}`);
  if (description !== "") output.line(`\n${said(description)}\n`);
  const isOpen = status === "open";
  const until = isOpen ? expiresAt : null;

  output.table([
    ...SOURCE_KINDS.flatMap((kind) => (source[kind] === undefined ? [] : [[kind, source[kind]]])),
    ...Object.entries(context).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
    ...approvalFacts(approval, words),
    ...(isOpen ? [[words.facts.with, words.with[step]]] : []),
    ...(until === null ? [] : [[words.facts.until, momentOf(until)]]),
  ]);

  if (!isOpen) output.line(endOf(escalation, words));
  else {
    for (const action of suggestedActions) {
      const { value, label, asks } = inLocale(action, output.words.language);
      output.line(`  dure escalations answer ${id} ${value}${asks ? ASKED[asks] : ""}   ${label}`);
    }
  }

  output.result(escalation);

  return EXIT.ok;
}

export async function answerEscalation(
  id: string,
  answer: EscalationAnswer,
  { client, output }: EscalationsCommand,
): Promise<ExitCode> {
  const answered = await client.answerEscalation(id, answer);
  const { escalation: words } = output.words.work;
  const next = answered.turnId === null ? "" : words.goesOn(answered.turnId);
  const isKept = answered.escalation.status === "open";
  output.line(isKept ? words.keptYes(id) : `${id}: ${answer.value}${next}`);
  output.result(answered);

  return EXIT.ok;
}

export async function dismissEscalation(
  id: string,
  note: string | undefined,
  { client, output }: EscalationsCommand,
): Promise<ExitCode> {
  const escalation = await client.dismissEscalation(id, { note });
  output.line(output.words.work.escalation.dismissed(id));
  output.result(escalation);

  return EXIT.ok;
}

/**
 * What waits, then what is raised and how it ends, until it is interrupted. With `--json` one event
 * per line.
 */
export async function watchEscalations({ client, output }: EscalationsCommand): Promise<ExitCode> {
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
    const { escalation: words } = output.words.work;
    output.note(items.length === 0 ? words.watchingNone : words.watching);
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
      output.line(newsOf(event, output.words));
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

/** Who approves, where that is not every operator, and how far it has come. Pure. */
function approvalFacts(
  approval: Escalation["approval"],
  words: CliWords["work"]["escalation"],
): readonly (readonly string[])[] {
  if (!approval) return [];
  const { role, two, first, refused } = approval;
  const facts = [
    words.approves(role, two),
    first && words.oneOfTwo(first.person ?? first.by, momentOf(first.at)),
    refused && words.refused[refused],
  ];
  return facts.flatMap((fact) => (fact ? [[words.facts.approves, fact]] : []));
}

function showLine(item: Escalation, output: Output): void {
  const { work, said, language } = output.words;
  const { escalation: words } = work;
  const actions = item.suggestedActions
    .map((action) => inLocale(action, language))
    .map(({ value, label }) => `${value} (${label})`);
  const answers = item.status === "open" ? words.answers(actions.join(", ")) : endOf(item, words);
  const facts = [item.id, words.severity(item.severity), item.type, momentOf(item.createdAt)];
  const terms = item.status === "open" ? approvalFacts(item.approval, words) : [];
  const lines = terms.map((fact) => fact.join(": "));
  output.line([facts.join("  "), titleIn(item.title, said), ...lines, answers].join("\n  "));
}

/** `resolved: approve by mina: "only this once"`. Pure. */
function endOf(
  { status, resolution, resolvedBy, resolvedByPerson }: Escalation,
  words: CliWords["work"]["escalation"],
): string {
  const by = resolvedByPerson ?? resolvedBy;
  if (!resolution) return words.status(status);

  const { value, note } = resolution;
  return words.ended({ status: words.status(status), value, by, note });
}

/** One line for one event. Pure. */
function newsOf(event: PlatformEvent, words: CliWords): string {
  const id = "id" in event.data ? String(event.data.id) : "";
  return `${momentOf(event.at)}  ${event.type}  ${id}  ${changeIn(event, words)}`;
}

function changeIn(event: PlatformEvent, { work: { escalation: words }, said }: CliWords): string {
  switch (event.type) {
    case "escalation.new":
    case "escalation.worsened":
      return `${words.severity(event.data.severity)}: ${titleIn(event.data.title, said)}`;
    case "escalation.first_yes":
      return words.firstYes(event.data.person ?? event.data.by);
    case "escalation.routed":
      return words.isWith(event.data.step);
    case "escalation.resolved":
      return words.decided(event.data.value, event.data.by);
    case "escalation.dismissed":
      return words.closed(event.data.value, event.data.by);
    default:
      return "";
  }
}
