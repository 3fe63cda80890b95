import { Button, Checkbox } from "@mantine/core";
import "@mantine/core/styles/Checkbox.css";
import { useQueryClient } from "@tanstack/react-query";
import type { Escalation, EscalationAnswer, SuggestedAction } from "dure/client";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useIsAdmin } from "../rooms/use-rooms.ts";
import { isWriting } from "../shell/find-keys.ts";
import { useSide } from "../side.ts";
import { whenOf } from "../when.ts";
import { EscalationCard, type Holding } from "./escalation-card.tsx";
import { EscalationTitle } from "./escalation-title.tsx";
import { agentOf, type InboxGroup } from "./order.ts";
import { actionLabel } from "./words.ts";

/**
 * One line for each, and the picked one as a card: beside the list, or below its line where there is
 * no room. By keys: `j` and `k` pick, `x` marks, `a`, `r` and `e` press what the card offers.
 */
export function InboxRows({
  groups,
  titleOf,
  onHold,
}: {
  groups: readonly InboxGroup[];
  titleOf: (group: InboxGroup) => string | undefined;
  onHold?: Holding;
}): ReactNode {
  const { isWide } = useSide();
  const all = groups.flatMap(({ items }) => items);
  const { picked, pick } = usePicked(all);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const chosen = all.filter(({ id }) => marked.has(id));
  const place = useRef<HTMLDivElement>(null);

  const mark = (id: string): void =>
    setMarked((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set(before).add(id),
    );
  useKeys(place, {
    move: (by) => {
      const next = all[all.findIndex(({ id }) => id === picked?.id) + by];
      if (next === undefined) return;
      pick(next.id);
      place.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(next.id)}"]`)?.focus();
    },
    mark: () => picked?.status === "open" && mark(picked.id),
  });
  if (picked === undefined) return null;
  const card = <PickedCard key={picked.id} escalation={picked} onHold={onHold} />;

  return (
    <div className="inbox-split" ref={place}>
      <div className="stack">
        {chosen.length > 0 && <Bulk chosen={chosen} onDone={() => setMarked(new Set())} />}
        {groups.map((group) => {
          const title = titleOf(group);
          return (
            <section key={group.severity}>
              {title !== undefined && <h2 className="panel-title small soft strong">{title}</h2>}
              <ul>
                {group.items.map((one) => (
                  <li key={one.id}>
                    <Row
                      escalation={one}
                      isPicked={one.id === picked.id}
                      isMarked={marked.has(one.id)}
                      onPick={() => pick(one.id)}
                      onMark={() => mark(one.id)}
                    />
                    {!isWide && one.id === picked.id && card}
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
      {isWide && <div className="inbox-detail">{card}</div>}
    </div>
  );
}

/** The one that was picked; when that is gone, the one that has come to its place. */
function usePicked(all: readonly Escalation[]): {
  readonly picked: Escalation | undefined;
  readonly pick: (id: string) => void;
} {
  const [at, setAt] = useState<{ readonly id?: string; readonly place: number }>({ place: 0 });
  const index = all.findIndex(({ id }) => id === at.id);
  const place = index >= 0 ? index : Math.min(at.place, all.length - 1);
  const picked = all[place];
  const isKept = picked === undefined || (picked.id === at.id && place === at.place);
  if (!isKept) setAt({ id: picked.id, place });

  return { picked, pick: (id) => setAt({ id, place }) };
}

/** Keys that are pressed where nothing is written. */
function useKeys(
  place: { readonly current: HTMLElement | null },
  deeds: { readonly move: (by: 1 | -1) => void; readonly mark: () => void },
): void {
  const now = useRef(deeds);
  useEffect(() => {
    now.current = deeds;
  });
  useEffect(() => {
    const leaving = new AbortController();
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || isWriting(target)) return;
      if (key === "j") now.current.move(1);
      if (key === "k") now.current.move(-1);
      if (key === "x") now.current.mark();
      const button = place.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
      if (button) {
        event.preventDefault(); // a field that opens does not get the letter
        button.click();
      }
    };
    document.addEventListener("keydown", onKey, { signal: leaving.signal });
    return () => leaving.abort();
  }, [place]);
}

function Row({
  escalation,
  isPicked,
  isMarked,
  onPick,
  onMark,
}: {
  escalation: Escalation;
  isPicked: boolean;
  isMarked: boolean;
  onPick: () => void;
  onMark: () => void;
}): ReactNode {
  const { text, language } = useLanguage();
  const { id, type, title, status, createdAt, resolvedAt } = escalation;
  const name = text.escalations.titles[type];
  const box = useId();

  return (
    <div className="inbox-row row tight" data-severity={escalation.severity} data-status={status}>
      {status === "open" && (
        <label className="inbox-mark" htmlFor={box}>
          <Checkbox
            id={box}
            size="sm"
            checked={isMarked}
            onChange={onMark}
            aria-labelledby={`${box}-title`}
          />
        </label>
      )}
      <button
        type="button"
        data-row={id}
        className="nav-item row tight"
        aria-expanded={isPicked}
        data-active={isPicked || undefined}
        onClick={onPick}
      >
        <span className="badge">{name}</span>
        <span className="inbox-title" id={`${box}-title`}>
          <EscalationTitle title={title} />
        </span>
        <span className="end meta">
          {[agentOf(escalation), whenOf(resolvedAt ?? createdAt, language)]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </button>
    </div>
  );
}

/** One answer for all that are marked, where all of them offer it. */
function Bulk({
  chosen,
  onDone,
}: {
  chosen: readonly Escalation[];
  onDone: () => void;
}): ReactNode {
  const text = useText();
  const isAdmin = useIsAdmin();
  const { answer, dismiss } = useDeeds();
  const [running, setRunning] = useState<string>();
  const [problem, setProblem] = useState<unknown>();

  /** One after the other: what fails keeps its mark, and the rest is done. */
  const decide = async (name: string, deed: (id: string) => Promise<void>): Promise<void> => {
    setRunning(name);
    setProblem(undefined);
    let failure: unknown;
    for (const { id } of chosen) {
      await deed(id).catch((error: unknown) => void (failure ??= error));
    }
    setRunning(undefined);
    setProblem(failure);
    if (failure === undefined) onDone();
  };

  return (
    <div className="inbox-bulk toolbar">
      <strong>{text.escalations.marked({ count: chosen.length })}</strong>
      {sharedActions(chosen).map((action) => (
        <Button
          key={action.value}
          size="compact-sm"
          variant="default"
          loading={running === action.value}
          disabled={running !== undefined}
          onClick={() => void decide(action.value, (id) => answer(id, { value: action.value }))}
        >
          {actionLabel(action, text)}
        </Button>
      ))}
      {isAdmin && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          loading={running === ""}
          disabled={running !== undefined}
          onClick={() => void decide("", dismiss)}
        >
          {text.escalations.dismiss}
        </Button>
      )}
      {problem !== undefined && (
        <p className="error-note small" role="alert">
          <ErrorWords error={problem} />
        </p>
      )}
    </div>
  );
}

/** Answers that all of them offer, and that want no words. Pure. */
function sharedActions(all: readonly Escalation[]): readonly SuggestedAction[] {
  const [first, ...rest] = all;
  return (first?.suggestedActions ?? []).filter(
    ({ value, asks }) =>
      asks !== "text" &&
      rest.every(({ suggestedActions }) =>
        suggestedActions.some((other) => other.value === value && other.asks !== "text"),
      ),
  );
}

function PickedCard({
  escalation,
  onHold,
}: {
  escalation: Escalation;
  onHold: Holding | undefined;
}): ReactNode {
  const { answer, dismiss } = useDeeds();
  return (
    <EscalationCard
      escalation={escalation}
      place="inbox"
      onAnswer={(given) => answer(escalation.id, given)}
      onDismiss={() => dismiss(escalation.id)}
      onHold={onHold}
    />
  );
}

/** What decides; the lists are read anew behind it. */
function useDeeds(): {
  readonly answer: (id: string, answer: EscalationAnswer) => Promise<void>;
  readonly dismiss: (id: string) => Promise<void>;
} {
  const { client } = useParts();
  const queries = useQueryClient();
  const decide = async (deed: Promise<unknown>): Promise<void> => {
    const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ["escalations"] });
    await deed.catch((error: unknown) => {
      void read(); // why it was refused is said at once
      throw error;
    });

    await read();
  };
  return {
    answer: (id, given) => decide(client.answerEscalation(id, given)),
    dismiss: (id) => decide(client.dismissEscalation(id)),
  };
}
