import { useMediaQuery } from "@mantine/hooks";
import { IconArrowDown } from "@tabler/icons-react";
import {
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { EVENTS_WORDS } from "words:later/events";
import { useWords } from "../language.tsx";
import { clockOf } from "../when.ts";
import type { LogRow } from "./event-log.ts";
import { useSentences } from "./use-sentences.ts";

/** Heights of a row, pixels; fixed, so that only the rows in sight need to exist. */
const ROW = { wide: 38, narrow: 58 };
/** Rows drawn beyond the sight on either side. */
const MARGIN_ROWS = 12;

/**
 * The rows of the log, oldest first. At the end it follows; anywhere else it keeps its place: what
 * was in sight stays where it was while rows come at the end and go at the begin.
 */
export function EventRows(props: {
  rows: readonly LogRow[];
  picked: LogRow | undefined;
  onPick: (row: LogRow) => void;
  empty: string;
}): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const { rows, picked } = props;
  const { scroller, height, sight, newer, onScroll, toEnd } = useSight(rows);

  const onStep = (event: KeyboardEvent<HTMLButtonElement>, index: number): void => {
    const step = stepOf(event.key);
    const next = rows[index + step];
    if (step === 0 || picked === undefined || next === undefined) return;

    event.preventDefault();
    props.onPick(next);
    focusBeside(event.currentTarget, step);
    bringIntoSight(scroller.current!, { y: (index + step) * height, height });
  };

  const from = Math.max(0, Math.floor(sight.top / height) - MARGIN_ROWS);
  const shown = rows.slice(from, from + Math.ceil(sight.height / height) + 2 * MARGIN_ROWS);

  return (
    <div className="event-rows card">
      {rows.length === 0 && <p className="panel-empty">{props.empty}</p>}
      <div
        className="event-scroll scroll"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label={words.list}
      >
        <div role="list" style={{ blockSize: rows.length * height, position: "relative" }}>
          {shown.map((row, offset) => (
            <div
              role="listitem"
              key={row.index}
              aria-setsize={rows.length}
              aria-posinset={from + offset + 1}
              className="event-item"
              style={{ insetBlockStart: (from + offset) * height, blockSize: height }}
            >
              <EventButton
                row={row}
                isPicked={row.index === picked?.index}
                onPick={props.onPick}
                onKeyDown={(event) => onStep(event, from + offset)}
              />
            </div>
          ))}
        </div>
      </div>
      {newer > 0 && (
        <button type="button" className="event-newer newer solid" onClick={toEnd}>
          <IconArrowDown size={14} aria-hidden /> {words.newer({ count: newer })}
        </button>
      )}
    </div>
  );
}

/** What of the rows is in sight, and how many came since the end was. */
function useSight(rows: readonly LogRow[]): {
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** Of a row, pixels. */
  readonly height: number;
  readonly sight: { readonly top: number; readonly height: number };
  readonly newer: number;
  readonly onScroll: () => void;
  readonly toEnd: () => void;
} {
  const scroller = useRef<HTMLDivElement>(null);
  const wide = useMediaQuery("(min-width: 48em)", window.matchMedia("(min-width: 48em)").matches, {
    getInitialValueInEffect: false,
  });
  const height = wide ? ROW.wide : ROW.narrow;
  const place = useRef({ following: true, index: 0, offset: 0 });
  const [sight, setSight] = useState({ top: 0, height: 800, following: true });
  const [readTo, setReadTo] = useState(-1);

  useLayoutEffect(() => {
    const element = scroller.current!;
    const { following, index, offset } = place.current;
    const at = rows.findIndex((row) => row.index >= index);
    const wanted = following ? element.scrollHeight : Math.max(0, at) * height + offset;
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
  }, [rows, height]);

  useLayoutEffect(() => {
    const element = scroller.current!;
    const observer = new ResizeObserver(() =>
      setSight((before) => ({ ...before, height: element.clientHeight })),
    );
    observer.observe(element);

    return () => observer.disconnect();
  }, []);

  const onScroll = (): void => {
    const element = scroller.current!;
    const top = Math.max(0, element.scrollTop);
    const following = element.scrollHeight - top - element.clientHeight < height;
    const first = Math.floor(top / height);
    place.current = { following, index: rows[first]?.index ?? 0, offset: top - first * height };
    if (following || sight.following) setReadTo(rows.at(-1)?.index ?? -1);
    setSight({ top, height: element.clientHeight, following });
  };

  const toEnd = (): void => {
    place.current.following = true;
    scroller.current!.scrollTop = scroller.current!.scrollHeight;
  };

  const read = rows.findLastIndex((row) => row.index <= readTo) + 1;

  return {
    scroller,
    height,
    sight,
    newer: sight.following ? 0 : rows.length - read,
    onScroll,
    toEnd,
  };
}

/** While an event is open, the arrows go from event to event. Pure. */
function stepOf(key: string): 1 | -1 | 0 {
  if (key === "ArrowDown") return 1;
  return key === "ArrowUp" ? -1 : 0;
}

/** The row beside the focused one is always drawn. */
function focusBeside(button: HTMLElement, step: 1 | -1): void {
  const item = button.parentElement;
  const beside = step === 1 ? item?.nextElementSibling : item?.previousElementSibling;
  beside?.querySelector("button")?.focus({ preventScroll: true });
}

function bringIntoSight(element: HTMLElement, row: { y: number; height: number }): void {
  const end = row.y + row.height;
  if (row.y < element.scrollTop) element.scrollTop = row.y;
  else if (end > element.scrollTop + element.clientHeight) {
    element.scrollTop = end - element.clientHeight;
  }
}

function EventButton({
  row,
  isPicked,
  onPick,
  onKeyDown,
}: {
  row: LogRow;
  isPicked: boolean;
  onPick: (row: LogRow) => void;
  onKeyDown: (event: KeyboardEvent<HTMLButtonElement>) => void;
}): ReactNode {
  const { roles } = useWords(EVENTS_WORDS);
  const sentence = useSentences();
  const { at, role } = row.event;

  return (
    <button
      type="button"
      className="event-row bare small"
      aria-pressed={isPicked}
      onClick={() => onPick(row)}
      onKeyDown={onKeyDown}
    >
      <time className="event-time clip meta">{clockOf(at)}</time>
      <span className="event-role clip meta" data-role={role}>
        {roles[role] ?? role}
      </span>
      <span className="event-subject clip">{sentence(row.event)}</span>
    </button>
  );
}
