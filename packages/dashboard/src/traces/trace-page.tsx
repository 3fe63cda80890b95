import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { WorkTrace } from "dure/client";
import { useEffect, useRef, type CSSProperties, type KeyboardEvent, type ReactNode } from "react";
import { moneyOf } from "../costs/sums.ts";
import { useLanguage, useText, useWords } from "../language.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { useServerNow } from "../server-clock.ts";
import { momentOf, spanOf } from "../when.ts";
import { TRACES_WORDS } from "words:later/traces";
import { useRowTitle } from "./row-title.ts";
import { TraceDetail } from "./trace-detail.tsx";
import { kindOf, KIND_ICONS, statusOf, toneOf, TONE_ICONS } from "./trace-look.ts";
import { isUnderWay, rowAfter, sumOf, traceRows, type TraceRow } from "./trace-rows.ts";
import "./traces.css";
import { useAsked } from "../asked.ts";
import { usePageTitle, Unread } from "../whole-page.tsx";

/** While something takes place the chain is read again, milliseconds. */
const READ_EVERY_MS = 3_000;

/** One chain of causes over rooms, turns, jobs and runs, down to each call, as a waterfall. */
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
  const now = useServerNow(trace.items.some(isUnderWay));
  const { rows, wholeMs } = traceRows(trace, now);
  const { row: chosen } = useSearch({ strict: false });
  const navigate = useNavigate();
  const selected = rows.find(({ key }) => key === (chosen ?? trace.asked)) ?? rows[0]!;
  const choose = (row: string): void => {
    void navigate({ to: ".", search: { row }, replace: true });
  };

  return (
    <div className="page flow">
      <TraceHead trace={trace} wholeMs={wholeMs} />
      {trace.isCut && <p className="note good">{words.cut}</p>}
      <div className="flow-body card flush">
        <Tree rows={rows} selected={selected.key} asked={trace.asked} onChoose={choose} />
        <TraceDetail key={selected.key} row={selected} trace={trace} />
      </div>
    </div>
  );
}

function TraceHead({ trace, wholeMs }: { trace: WorkTrace; wholeMs: number }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const titleOf = useRowTitle();
  const { items, steps } = trace;
  const { microUsd, tokens } = sumOf(steps);
  const failures = [...items, ...steps].filter(({ status }) => toneOf(status) === "bad").length;
  const parts = [
    momentOf(items[0]!.at, language),
    words.whole({
      things: (items.length + steps.length).toLocaleString(language),
      span: spanOf(wholeMs, language),
    }),
    tokens > 0 && words.tokens({ count: tokens.toLocaleString(language) }),
    microUsd !== null && microUsd > 0 && moneyOf(microUsd, language),
  ];

  return (
    <header className="stack tight">
      <p className="soft small">{words.title}</p>
      <h1 className="clamp">{titleOf({ node: items[0]! })}</h1>
      <p className="soft small cluster">
        {parts.filter((part) => part !== false).join(" · ")}
        {failures > 0 && (
          <span className="badge" data-tone="bad">
            {words.failures({ count: failures })}
          </span>
        )}
        {items.some(isUnderWay) && (
          <span className="badge" data-tone="now">
            {words.statuses["running"]}
          </span>
        )}
      </p>
    </header>
  );
}

interface TreeProps {
  readonly rows: readonly TraceRow[];
  readonly selected: string;
  readonly asked: string;
  readonly onChoose: (row: string) => void;
}

/** Up and down, the first and the last: as in every tree of rows. */
function Tree({ rows, selected, asked, onChoose }: TreeProps): ReactNode {
  const words = useWords(TRACES_WORDS);
  const tree = useRef<HTMLDivElement>(null);
  useEffect(() => {
    tree.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, []);

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = rows.findIndex(({ key }) => key === selected);
    const next = rowAfter(event.key, at, rows.length);
    if (next === undefined) return;
    event.preventDefault();
    tree.current?.querySelectorAll<HTMLElement>('[role="treeitem"]')[next]?.focus();
  };

  return (
    <div
      ref={tree}
      role="tree"
      className="flow-tree scroll divided"
      aria-label={words.title}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      {rows.map((row) => (
        <Row
          key={row.key}
          row={row}
          isSelected={row.key === selected}
          isAsked={row.key === asked}
          onChoose={onChoose}
        />
      ))}
    </div>
  );
}

/** Deeper rows are drawn at this depth. */
const DEEPEST = 9;

function Row(props: {
  row: TraceRow;
  isSelected: boolean;
  isAsked: boolean;
  onChoose: (row: string) => void;
}): ReactNode {
  const { row, isSelected, isAsked, onChoose } = props;
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const titleOf = useRowTitle();
  const kind = kindOf(row);
  const status = statusOf(row);
  const tone = toneOf(status);
  const [KindIcon, ToneIcon] = [KIND_ICONS[kind], TONE_ICONS[tone]];
  const attempt = row.step?.attempt ?? 1;

  return (
    <div
      role="treeitem"
      className="flow-row"
      aria-level={row.depth + 1}
      aria-selected={isSelected}
      aria-current={isAsked || undefined}
      data-tone={tone}
      data-kind={kind}
      tabIndex={isSelected ? 0 : -1}
      style={{ "--depth": Math.min(row.depth, DEEPEST) } as CSSProperties}
      onFocus={() => isSelected || onChoose(row.key)}
    >
      <span className="flow-name row">
        <KindIcon size={15} stroke={1.7} aria-hidden />
        <span className="soft small rigid">{words.kinds[kind]}</span>
        <span className="clip grow">{titleOf(row)}</span>
        {attempt > 1 && <span className="badge">{words.attempt({ count: attempt })}</span>}
        {isAsked && <span className="hidden-words">{words.here}</span>}
        <span className="hidden-words">{words.statuses[status] ?? status}</span>
      </span>
      <span className="flow-track" aria-hidden>
        <span
          style={{ insetInlineStart: `${row.fromPercent}%`, inlineSize: `${row.sharePercent}%` }}
        />
      </span>
      <span className="flow-time row end small">
        {kind === "message" ? "" : spanOf(row.spanMs, language)}
        <ToneIcon size={14} stroke={2} aria-hidden />
      </span>
    </div>
  );
}
