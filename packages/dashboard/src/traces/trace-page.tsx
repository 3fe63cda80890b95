import {
  IconAlertCircle,
  IconArrowsExchange,
  IconCpu,
  IconHeartHandshake,
  IconMessage,
  IconPlug,
  IconSitemap,
  type Icon,
} from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { type TraceStatus, type WorkTrace, type WorkTraceNode } from "dure/client";
import { type CSSProperties, type ReactNode } from "react";
import { actorOf } from "../actor.ts";
import { useLanguage, useWords, useText } from "../language.tsx";
import { useAgents, useSpeaker } from "../rooms/use-rooms.ts";
import { useServerNow } from "../server-clock.ts";
import { useServerKorean } from "../use-server-korean.ts";
import { momentOf, spanOf } from "../when.ts";
import { TRACES_WORDS } from "words:later/traces";
import { isUnderWay, traceRows, type TraceRow } from "./trace-rows.ts";
import "./traces.css";
import { useAsked } from "../asked.ts";
import { usePageTitle, Unread } from "../whole-page.tsx";

/** While something takes place the chain is read again, milliseconds. */
const READ_EVERY_MS = 3_000;

/** One chain of causes over rooms, turns, jobs and runs, as a waterfall. */
export function TracePage(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const text = useText();
  const words = useWords(TRACES_WORDS);
  const { who } = useSpeaker();
  usePageTitle(words.title);

  const trace = useAsked(
    ["trace", id, who],
    (client, signal) => client.trace(id, { signal, asPerson: who }),
    {
      refetchInterval: ({ state }) =>
        state.data?.items.some(isUnderWay) === true ? READ_EVERY_MS : false,
    },
  );
  if (trace.data !== undefined) return <Chain trace={trace.data} />;
  return (
    <Unread
      error={trace.error}
      onRetry={() => void trace.refetch()}
      words={words}
      reading={words.loading}
      failed={words.failed}
      goneBy={["not-found", "input"]}
      title={words.title}
      to="/"
    >
      {text.shell.nav.start}
    </Unread>
  );
}

function Chain({ trace }: { trace: WorkTrace }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const { items, isCut, asked } = trace;
  const now = useServerNow(items.some(isUnderWay));
  const { rows, wholeMs } = traceRows(items, now);

  return (
    <div className="page" tabIndex={0} role="region" aria-label={words.title}>
      <header>
        <h1>{words.title}</h1>
        <p className="soft">{words.lead}</p>
        <p className="soft small">
          {momentOf(items[0]!.at, language)} ·{" "}
          {words.whole({
            things: items.length.toLocaleString(language),
            span: spanOf(wholeMs, language),
          })}
        </p>
      </header>
      {isCut && <p className="note good">{words.cut}</p>}
      <ol className="chain card stack flush divided">
        {rows.map((row) => (
          <li
            key={row.node.id}
            aria-current={row.node.id === asked || undefined}
            data-tone={toneOf(row.node.status as TraceStatus)}
            style={atDepth(row.depth)}
          >
            <Row row={row} isAsked={row.node.id === asked} />
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Deeper rows are drawn at this depth. */
const DEEPEST = 7;

function atDepth(depth: number): CSSProperties {
  return { "--depth": Math.min(depth, DEEPEST) } as CSSProperties;
}

const ICONS = {
  message: IconMessage,
  turn: IconCpu,
  request: IconHeartHandshake,
  job: IconArrowsExchange,
  run: IconSitemap,
  port: IconPlug,
  escalation: IconAlertCircle,
} as const satisfies Record<WorkTraceNode["kind"], Icon>;

function Row({ row, isAsked }: { row: TraceRow; isAsked: boolean }): ReactNode {
  const { node, depth, fromPercent, sharePercent } = row;
  const words = useWords(TRACES_WORDS);
  const korean = useServerKorean();
  const title = node.title === "" ? words.noWords : (korean.title(node.title) ?? node.title);
  const KindIcon = ICONS[node.kind];

  return (
    <>
      <div className="cluster">
        <span className="soft row tight inline">
          <KindIcon size={15} stroke={1.7} aria-hidden />
          {words.kinds[node.kind]}
        </span>
        <Who node={node} />
        <span className="chain-status soft">{words.statuses[node.status] ?? node.status}</span>
        {isAsked && <span className="badge">{words.here}</span>}
        <span className="hidden-words">{`(${depth + 1})`}</span>
      </div>
      <p className="chain-title">
        <ToPlace node={node} label={words.open({ title })}>
          {title}
        </ToPlace>
      </p>
      <div className="chain-track track" aria-hidden>
        <span style={{ insetInlineStart: `${fromPercent}%`, inlineSize: `${sharePercent}%` }} />
      </div>
      <Foot row={row} />
    </>
  );
}

function Who({ node: { kind, who } }: { node: WorkTraceNode }): ReactNode {
  const { text } = useLanguage();
  const agents = useAgents();
  const nameOf = (id: string): string =>
    agents.data?.find((agent) => agent.id === id)?.displayName ?? id;
  if (kind === "escalation") return null;
  const words =
    kind === "run" ? actorOf(who, { text, nameOf }) : who.split(" → ").map(nameOf).join(" → ");

  return words === "" ? null : <strong>{words}</strong>;
}

function Foot({ row: { node, afterMs, spanMs } }: { row: TraceRow }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const { kind, tokens, agents, endedAt } = node;
  const parts = [
    afterMs > 0 && words.after({ span: spanOf(afterMs, language) }),
    kind !== "message" &&
      (endedAt === null ? words.soFar : words.took)({ span: spanOf(spanMs, language) }),
    tokens !== null && tokens > 0 && words.tokens({ count: tokens.toLocaleString(language) }),
    agents.length > 1 &&
      agents.map(({ agent, elapsedMs }) => `${agent} ${spanOf(elapsedMs, language)}`).join(", "),
  ];

  return <p className="soft small">{parts.filter((part) => part !== false).join(" · ")}</p>;
}

const TONES = {
  bad: ["failed", "FAILED", "ABANDONED", "expired", "blocked", "unknown"],
  quiet: ["CANCELLED", "cancelled", "withdrawn", "dismissed"],
  now: ["queued", "running", "open", "PENDING", "RUNNING", "waiting", "ready"],
  over: ["done", "sent", "answered", "resolved", "COMPLETED", "succeeded", "success"],
  rests: ["held", "paused", "cancelling", "waiting_host", "partial"],
} as const satisfies Record<string, readonly TraceStatus[]>;
type Toned = (typeof TONES)[keyof typeof TONES][number];

/** How a thing stands, for its colour; the words say it too. Pure. */
function toneOf(status: Toned): string | undefined {
  return Object.entries<readonly string[]>(TONES).find(([, all]) => all.includes(status))?.[0];
}

// --- to place

/** Where a thing of the chain can be read: its page. */
function ToPlace({
  node,
  label,
  children,
}: {
  node: WorkTraceNode;
  label: string;
  children: ReactNode;
}): ReactNode {
  const { kind, id, session, place } = node;
  const shared = { "aria-label": label };

  switch (kind) {
    case "message":
    case "request":
      return (
        <Link {...shared} to="/rooms/$place" params={{ place: place ?? "" }}>
          {children}
        </Link>
      );
    case "turn":
      return <ToSession {...{ session, label, children }} />;
    case "job":
      return (
        <Link {...shared} to="/jobs/$id" params={{ id }}>
          {children}
        </Link>
      );
    case "run":
      return (
        <Link {...shared} to="/plans/runs/$run" params={{ run: id }}>
          {children}
        </Link>
      );
    case "port":
      return <ToPort {...{ id, label, children }} />;
    case "escalation":
      return (
        <Link {...shared} to="/escalations">
          {children}
        </Link>
      );
    default:
      return kind satisfies never;
  }
}

/** Of a conversation its page; of a room or a job the page where its words stand. */
function ToSession(props: {
  session: string | null;
  label: string;
  children: ReactNode;
}): ReactNode {
  const { label, children } = props;
  const session = props.session ?? "";
  const [, room] = /^room:[^:]+:(.+?)(?:@@[0-9a-f]{16})?$/.exec(session) ?? [];
  const [, job] = /^job:(job_[0-9A-Z]{26}):/.exec(session) ?? [];
  if (room !== undefined) {
    return (
      <Link aria-label={label} to="/rooms/$place" params={{ place: room }}>
        {children}
      </Link>
    );
  }
  if (job !== undefined) {
    return (
      <Link aria-label={label} to="/jobs/$id" params={{ id: job }}>
        {children}
      </Link>
    );
  }
  if (session.startsWith("escalation:")) {
    return (
      <Link aria-label={label} to="/escalations">
        {children}
      </Link>
    );
  }

  return (
    <Link aria-label={label} to="/chat/$session" params={{ session }}>
      {children}
    </Link>
  );
}

function ToPort(props: { id: string; label: string; children: ReactNode }): ReactNode {
  const [run = "", port = ""] = props.id.split("/");
  return (
    <Link aria-label={props.label} to="/plans/runs/$run/ports/$port" params={{ run, port }}>
      {props.children}
    </Link>
  );
}
