import { Button, Textarea } from "@mantine/core";
import { useFocusWithin } from "@mantine/hooks";
import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconCheck,
  IconCircleOff,
  IconInfoCircle,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  isObject,
  MAX_NOTE,
  type Escalation,
  type EscalationAnswer,
  type EscalationSeverity,
  type JsonObject,
  type SuggestedAction,
} from "dure/client";
import {
  useEffect,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefCallback,
  type RefObject,
} from "react";
import { meOf } from "../shell/me.ts";
import { actorOf } from "../actor.ts";
import { AgentLink } from "../agents/agent-link.tsx";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { Prose } from "../prose.tsx";
import { useServerKorean } from "../use-server-korean.ts";
import { whenOf } from "../when.ts";
import { ArgumentsForm } from "./arguments-form.tsx";
import { ContextFacts } from "./context-facts.tsx";
import { EscalationTitle } from "./escalation-title.tsx";
import "./escalations.css";
import { aboutOf, agentOf, linksOf, type SourceLink } from "./order.ts";
import { actionLabel, decisionOf } from "./words.ts";

const ICONS = {
  critical: IconAlertOctagon,
  high: IconAlertTriangle,
  medium: IconAlertTriangle,
  low: IconInfoCircle,
} as const;
const CLOSED_ICONS = { resolved: IconCheck, dismissed: IconCircleOff } as const;
/** What is asked about is the arguments of a call. */
const CALLS: ReadonlySet<Escalation["type"]> = new Set(["decision", "effect_unknown"]);

interface Deciding {
  readonly onAnswer: (answer: EscalationAnswer) => Promise<void>;
  /** Absent: it cannot be closed from here without a decision. */
  readonly onDismiss?: (() => Promise<void>) | undefined;
}

/**
 * A person is at a card, or writes words for its answer, since it was so severe; undefined: no one
 * is any more.
 */
export type Holding = (id: string, at: EscalationSeverity | undefined) => void;

/**
 * A question to a person: what it is about, and its answers as buttons. In the inbox it says where
 * it came from, too.
 */
export function EscalationCard(
  props: {
    escalation: Escalation;
    place: "conversation" | "inbox";
    onHold?: Holding | undefined;
  } & Deciding,
): ReactNode {
  const { escalation, place, onAnswer, onDismiss, onHold } = props;
  const text = useText();
  const heading = useId();
  const { severity, status, type } = escalation;
  const { ref, onWriting } = useHolding(escalation, onHold);
  const isOpen = status === "open";
  const Icon = isOpen ? ICONS[severity] : CLOSED_ICONS[status];

  return (
    <article
      ref={ref}
      className="escalation card stack"
      data-severity={severity}
      data-status={status}
      aria-labelledby={heading}
    >
      <header className="row">
        <Icon size={17} aria-hidden />
        <strong id={heading}>{text.escalations.titles[type]}</strong>
        <span className="end badge">{text.escalations.severities[severity]}</span>
      </header>
      <p className="escalation-question">
        <EscalationTitle title={escalation.title} />
      </p>
      <About escalation={escalation} />
      <Approvers approval={escalation.approval} isOpen={isOpen} />
      {isOpen ? (
        <Answers
          escalation={escalation}
          onAnswer={onAnswer}
          onDismiss={onDismiss}
          onWriting={onWriting}
        />
      ) : (
        <Closed escalation={escalation} />
      )}
      <Footer escalation={escalation} place={place} />
    </article>
  );
}

/** Of a gate the page has the changes themselves: neither a command nor a commit helps there. */
function About({ escalation }: { escalation: Escalation }): ReactNode {
  const text = useText();
  const korean = useServerKorean();
  const { type, description, context } = escalation;
  if (context["code"] === "PORT_HELD") {
    return <p className="verbatim soft">{text.escalations.held}</p>;
  }

  return (
    <>
      {description !== "" && (
        <p className="verbatim soft">
          <Prose text={korean.sentence(description) ?? description} />
        </p>
      )}
      <ContextFacts value={aboutOf(escalation)} arguments={CALLS.has(type)} />
    </>
  );
}

/** Who approves, where that is not every operator, and how far it has come. */
function Approvers({
  approval,
  isOpen,
}: Pick<Escalation, "approval"> & { isOpen: boolean }): ReactNode {
  const { text, language } = useLanguage();
  if (!approval) return null;

  const { role, two, first, refused } = approval;
  const words = text.escalations.approvers;
  const name = first && (first.person ?? actorOf(first.by, { text, nameOf: (id) => id }));

  return (
    <div className="escalation-approvers stack tight">
      {isOpen && <p>{two ? words.two({ role }) : words.one({ role: role ?? "" })}</p>}
      {first && (
        <p>
          <strong>{two && isOpen ? words.oneOfTwo : words.first}</strong>{" "}
          {`${name} · ${whenOf(first.at, language)}`}
        </p>
      )}
      {first?.note !== undefined && <blockquote>{first.note}</blockquote>}
      {isOpen && refused && <p className="soft small">{words.refused[refused]}</p>}
    </div>
  );
}

/** Says that a person is at the card, or writes words for its answer, and since which severity. */
function useHolding(
  { id, severity }: Escalation,
  onHold: Holding | undefined,
): {
  readonly ref: RefCallback<HTMLElement | null>;
  readonly onWriting: (isWriting: boolean) => void;
} {
  const [isWriting, setIsWriting] = useState(false);
  const heldAt = useRef(severity);
  const onFocus = (): void => {
    if (!isWriting) heldAt.current = severity;
  };
  const { ref, focused } = useFocusWithin<HTMLElement>({ onFocus });
  const isHeld = focused || isWriting;

  useEffect(() => {
    if (!isHeld) return undefined;
    onHold?.(id, heldAt.current);
    return () => onHold?.(id, undefined);
  }, [id, isHeld, onHold]);

  return { ref, onWriting: setIsWriting };
}

/** Where it came from, when it was raised, and who has it. */
function Footer({
  escalation,
  place,
}: {
  escalation: Escalation;
  place: "conversation" | "inbox";
}): ReactNode {
  const { text, language } = useLanguage();
  const { source, status } = escalation;
  const isOpen = status === "open";
  const agent = agentOf(escalation);

  return (
    <footer className="meta cluster">
      {place === "inbox" && agent !== undefined && <AgentWords id={agent} />}
      {place === "inbox" &&
        linksOf(source).map((link) => <SourceWords key={link.kind} link={link} />)}
      {place === "inbox" && source.port !== undefined && (
        <span>{text.escalations.port({ port: source.port })}</span>
      )}
      <time dateTime={new Date(escalation.createdAt).toISOString()}>
        {text.escalations.asked({ when: whenOf(escalation.createdAt, language) })}
      </time>
      {isOpen && escalation.expiresAt !== null && (
        <span>{text.escalations.until({ when: whenOf(escalation.expiresAt, language) })}</span>
      )}
      {isOpen && escalation.step === "operator" && (
        <span>
          {text.escalations.withOperator({
            when: escalation.nextStepAt === null ? "" : whenOf(escalation.nextStepAt, language),
          })}
        </span>
      )}
    </footer>
  );
}

/** Leads to the agent's page; nothing of one that the team does not have. */
function AgentWords({ id }: { id: string }): ReactNode {
  const { data: agents } = useAgents();
  const agent = agents?.find((one) => one.id === id);

  return agent === undefined ? null : <AgentLink id={id}>{agent.displayName}</AgentLink>;
}

function SourceWords({ link }: { link: SourceLink }): ReactNode {
  const words = useText().escalations.sources[link.kind];
  if (link.kind === "job") {
    return (
      <Link to="/jobs/$id" params={{ id: link.id }}>
        {words}
      </Link>
    );
  }

  if (link.kind === "run") {
    return (
      <Link to="/plans/runs/$run" params={{ run: link.id }}>
        {words}
      </Link>
    );
  }

  if (link.kind === "room") {
    return (
      <Link to="/rooms/$place" params={{ place: link.id }}>
        {words}
      </Link>
    );
  }

  return (
    <Link to="/chat/$session" params={{ session: link.id }}>
      {words}
    </Link>
  );
}

function Answers({
  escalation,
  onAnswer,
  onDismiss,
  onWriting,
}: { escalation: Escalation; onWriting: (isWriting: boolean) => void } & Deciding): ReactNode {
  const text = useText();
  const isOperator = useMayDecide();
  const isAllowed = isOperator || hasItsRole(escalation);
  const [writing, setWriting] = useState<SuggestedAction>();
  const { running, problem, decide } = useDeciding();
  const buttons = useRef<HTMLDivElement>(null);
  if (!isAllowed) {
    return <p className="soft small">{text.escalations.notYours}</p>;
  }

  const write = (action: SuggestedAction | undefined): void => {
    setWriting(action);
    onWriting(action !== undefined);
  };

  const choose = (action: SuggestedAction): void => {
    if (action.asks === "text") write(action);
    else void decide(action.value, () => onAnswer({ value: action.value }));
  };

  const leave = (): void => {
    const { value } = writing!;
    write(undefined);
    queueMicrotask(() =>
      buttons.current?.querySelector<HTMLElement>(`[data-value="${CSS.escape(value)}"]`)?.focus(),
    );
  };

  return (
    <>
      {writing ? (
        <Writing
          escalation={escalation}
          action={writing}
          isRunning={running !== undefined}
          onSend={(more) =>
            decide(writing.value, () => onAnswer({ value: writing.value, ...more }))
          }
          onLeave={leave}
        />
      ) : (
        <Choices
          actions={escalation.suggestedActions}
          running={running}
          buttons={buttons}
          onChoose={choose}
          onChange={write}
          onDismiss={isOperator && onDismiss ? () => void decide("", onDismiss) : undefined}
        />
      )}
      <Problem error={problem} />
    </>
  );
}

/** What goes with an answer: other arguments for the call that it allows, or words. */
function Writing(props: {
  escalation: Escalation;
  action: SuggestedAction;
  isRunning: boolean;
  onSend: (more: Pick<EscalationAnswer, "note" | "input">) => Promise<void>;
  onLeave: () => void;
}): ReactNode {
  const { escalation, action, isRunning, onSend, onLeave } = props;
  const { input } = escalation.context;
  const same = { isRunning, onLeave };
  if (action.asks === "input" && isObject(input)) {
    const send = (changed: JsonObject): Promise<void> => onSend({ input: changed });
    return <ArgumentsForm input={input as JsonObject} onSend={send} {...same} />;
  }
  const send = (note: string): Promise<void> => onSend(note === "" ? {} : { note });
  return <Note action={action} onSend={send} {...same} />;
}

function Problem({ error }: { error: unknown }): ReactNode {
  if (error === undefined) return null;

  return (
    <p className="error-note small" role="alert">
      <ErrorWords error={error} />
    </p>
  );
}

/** Pure. */
function hasItsRole({ approval }: Escalation): boolean {
  return typeof approval?.role === "string" && approval.refused !== "role";
}

/** Also while it is not known. */
function useMayDecide(): boolean {
  const { client } = useParts();
  const me = useQuery(meOf(client));

  return me.data === undefined || me.data.scopes.includes("admin");
}

/** Carries out one decision at a time. */
function useDeciding(): {
  /** The value of the answer that is under way; empty for closing without one. */
  readonly running: string | undefined;
  readonly problem: unknown;
  readonly decide: (name: string, deed: () => Promise<void>) => Promise<void>;
} {
  const [running, setRunning] = useState<string>();
  const [problem, setProblem] = useState<unknown>();

  const decide = async (name: string, deed: () => Promise<void>): Promise<void> => {
    setRunning(name);
    setProblem(undefined);

    try {
      await deed();
    } catch (error) {
      setProblem(error);
    } finally {
      setRunning(undefined);
    }
  };

  return { running, problem, decide };
}

function Choices({
  actions,
  running,
  buttons,
  onChoose,
  onChange,
  onDismiss,
}: {
  actions: readonly SuggestedAction[];
  running: string | undefined;
  buttons: RefObject<HTMLDivElement | null>;
  onChoose: (action: SuggestedAction) => void;
  onChange: (action: SuggestedAction) => void;
  onDismiss: (() => void) | undefined;
}): ReactNode {
  const text = useText();
  const changing = actions.find(({ asks }) => asks === "input");
  const isBusy = (name: string): { loading: boolean; disabled: boolean } => ({
    loading: running === name,
    disabled: running !== undefined && running !== name,
  });

  return (
    <div className="choices toolbar" ref={buttons}>
      {actions.map((action) => (
        <Button
          key={action.value}
          data-value={action.value}
          data-key={keyOf(action)}
          size="sm"
          {...lookOf(action)}
          {...isBusy(action.value)}
          onClick={() => onChoose(action)}
        >
          {`${actionLabel(action, text)}${action.asks === "text" ? "…" : ""}`}
        </Button>
      ))}
      {changing && (
        <Button
          size="sm"
          variant="subtle"
          data-key="e"
          disabled={running !== undefined}
          onClick={() => onChange(changing)}
        >
          {text.escalations.change}
        </Button>
      )}
      {onDismiss && (
        <Button size="sm" variant="subtle" color="gray" {...isBusy("")} onClick={onDismiss}>
          {text.escalations.dismiss}
        </Button>
      )}
    </div>
  );
}

/** The key of the inbox that presses it. Pure. */
function keyOf({ value, style }: SuggestedAction): "a" | "r" | undefined {
  if (value === "reject" || style === "danger") return "r";
  return value === "approve" || style === "primary" ? "a" : undefined;
}

function lookOf({ style }: SuggestedAction): { variant: string; color?: string } {
  if (style === "primary") return { variant: "filled" };
  return style === "danger" ? { variant: "default", color: "red" } : { variant: "default" };
}

/** The words that go with an answer. Ctrl or ⌘ with Enter sends them, Escape leaves. */
function Note(props: {
  action: SuggestedAction;
  isRunning: boolean;
  onSend: (note: string) => Promise<void>;
  onLeave: () => void;
}): ReactNode {
  const { action, isRunning, onSend, onLeave } = props;
  const text = useText();
  const [note, setNote] = useState("");

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onLeave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void onSend(note.trim());
  };

  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void onSend(note.trim());
      }}
    >
      <Textarea
        autoFocus
        autosize
        minRows={2}
        maxRows={8}
        maxLength={MAX_NOTE}
        label={`${actionLabel(action, text)}: ${text.escalations.note}`}
        placeholder={text.escalations.noteHint}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div className="choices toolbar">
        <Button type="submit" size="sm" loading={isRunning}>
          {text.escalations.send}
        </Button>
        <Button size="sm" variant="default" disabled={isRunning} onClick={onLeave}>
          {text.escalations.back}
        </Button>
      </div>
    </form>
  );
}

function Closed({ escalation }: { escalation: Escalation }): ReactNode {
  const { text, language } = useLanguage();
  const { resolution, resolvedAt, resolvedBy, resolvedByPerson } = escalation;
  if (resolution === null || resolvedAt === null) return null;

  const by = actorOf(resolvedBy, { text, nameOf: (id) => id });
  const who = resolvedByPerson ?? text.escalations.by[resolvedBy ?? ""] ?? by;

  return (
    <div className="escalation-answer strong">
      <p>
        {text.escalations.answered({
          answer: decisionOf(escalation, text),
          who,
          when: whenOf(resolvedAt, language),
        })}
      </p>
      {resolution.note !== undefined && <blockquote>{resolution.note}</blockquote>}
      {resolution.input !== undefined && (
        <>
          <p>{text.escalations.changed}</p>
          <ContextFacts value={resolution.input as JsonObject} arguments />
        </>
      )}
    </div>
  );
}
