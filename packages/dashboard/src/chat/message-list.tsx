import { ActionIcon, Button } from "@mantine/core";
import {
  IconAlertTriangle,
  IconArrowDown,
  IconClock,
  IconHourglassHigh,
  IconPlayerStop,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import {
  shownText,
  type Done,
  type Escalation,
  type JsonObject,
  type MessageRequest,
  type SlotInfo,
} from "dure/client";
import { Fragment, memo, useMemo, useRef, type ReactNode, type RefObject } from "react";
import { EscalationCard } from "../escalations/escalation-card.tsx";
import { useFollowEnd } from "../follow-end.ts";
import { isRefusedUnheard, toneOf, type Tone } from "./tone.ts";
import { FileLinks } from "../files/file-links.tsx";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { whenOf } from "../when.ts";
import type { Conversation, ConversationView, Entry, RunningTurn } from "dure/react";
import { Markdown } from "./markdown.tsx";
import { ReceiptCard } from "./receipt-card.tsx";
import { receiptsByEntry } from "./receipts.ts";

type SendMessage = (message: string, extra?: Pick<MessageRequest, "confirmId">) => void;

const NONE: readonly JsonObject[] = [];

export function MessageList(props: {
  view: ConversationView;
  conversation: Conversation;
  slots: readonly SlotInfo[];
  onSend: SendMessage;
}): ReactNode {
  const { view, conversation, slots, onSend } = props;
  const text = useText();
  const open = view.escalations.filter(isForInbox).toReversed();

  const said = useMemo(
    () => view.entries.filter((entry) => entry.status !== "queued"),
    [view.entries],
  );

  const queued = view.entries.filter((entry) => entry.status === "queued");
  const count = view.entries.length;
  const own = view.entries.at(-1)?.role === "user" ? count : 0;
  const scroller = useRef<HTMLDivElement>(null);
  const { following, onScroll } = useFollowEnd(scroller, { own });
  const last = view.turn === undefined && queued.length === 0 ? view.entries.at(-1) : undefined;

  return (
    <div
      className="messages grow scroll"
      ref={scroller}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label={text.chat.log}
      aria-busy={view.turn !== undefined}
    >
      <ol className="messages-list stack wide">
        <Answered
          said={said}
          open={open}
          conversation={conversation}
          slots={slots}
          onSend={onSend}
        />
        {view.turn !== undefined && (
          <Answering turn={view.turn} onReattach={() => conversation.reattach()} />
        )}
        {view.turn === undefined && last?.role === "user" && last.status !== "failed" && (
          <Thinking />
        )}
        {queued.map((entry) => (
          <Message
            key={entry.key}
            entry={entry}
            conversation={conversation}
            receipts={NONE}
            slots={slots}
          />
        ))}
      </ol>
      {last?.done !== undefined && <Choices done={last.done} onSend={onSend} />}
      {!following && <ToBottom scroller={scroller} />}
    </div>
  );
}

/** What was said, with receipts, and each question under the answer that waits for it. */
function Answered({
  said,
  open,
  conversation,
  slots,
  onSend,
}: {
  said: readonly Entry[];
  open: readonly Escalation[];
  conversation: Conversation;
  slots: readonly SlotInfo[];
  onSend: SendMessage;
}): ReactNode {
  const receipts = useMemo(() => receiptsByEntry(said), [said]);
  const done = said.filter((entry) => entry.done !== undefined);
  const answered = new Set(done.map(({ turnId }) => turnId));

  return (
    <>
      {said.map((entry) => (
        <Fragment key={entry.key}>
          <Message
            entry={entry}
            conversation={conversation}
            receipts={receipts.get(entry.key) ?? NONE}
            slots={slots}
            isLast={entry === said.at(-1)}
          />
          {entry === said.at(-1) && isRefusedUnheard(entry.done) && (
            <SendAgain asked={said.at(-2)} onSend={onSend} />
          )}
          {entry.done !== undefined && (
            <Questions
              all={open.filter(({ source }) => source.turn === entry.turnId)}
              conversation={conversation}
            />
          )}
        </Fragment>
      ))}
      <Questions
        all={open.filter(({ source }) => !answered.has(source.turn))}
        conversation={conversation}
      />
    </>
  );
}

function ToBottom({ scroller }: { scroller: RefObject<HTMLDivElement | null> }): ReactNode {
  const text = useText();
  const toBottom = (): void => {
    const element = scroller.current;
    element?.scrollTo({ top: element.scrollHeight, behavior: "smooth" });
  };

  return (
    <ActionIcon
      className="to-bottom stack flush"
      variant="default"
      radius="xl"
      size="lg"
      aria-label={text.common.toBottom}
      onClick={toBottom}
    >
      <IconArrowDown size={17} />
    </ActionIcon>
  );
}

/** What a person must decide, each under the answer that waits for it. */
function Questions({
  all,
  conversation,
}: {
  all: readonly Escalation[];
  conversation: Conversation;
}): ReactNode {
  return all.map((escalation) => (
    <li key={escalation.id} className="message stack" data-role="system">
      <EscalationCard
        escalation={escalation}
        place="conversation"
        onAnswer={(answer) => conversation.answer(escalation.id, answer)}
      />
    </li>
  ));
}

const Message = memo(function Message(props: {
  entry: Entry;
  conversation: Conversation;
  receipts: readonly JsonObject[];
  slots: readonly SlotInfo[];
  isLast?: boolean;
}): ReactNode {
  const { entry, conversation, receipts, slots, isLast } = props;
  const { text, language } = useLanguage();

  if (entry.role === "user") return <OwnMessage entry={entry} conversation={conversation} />;
  const tone = toneOf(entry.done);

  return (
    <li className="message stack" data-role={entry.role} data-tone={tone}>
      {entry.author === "system" && <span className="meta row inline">{text.chat.bySystem}</span>}
      <span className="hidden-words">{text.chat.assistant}</span>
      {entry.content !== "" && (
        <div className={tone === undefined ? "answer" : "answer notice stack"}>
          <Markdown>{entry.content}</Markdown>
          {tone !== undefined && <ToneNote tone={tone} error={entry.done?.error} />}
        </div>
      )}
      <FileLinks files={filesOf(entry)} />
      {isLast && entry.done?.error?.retry === true && (
        <Resume entry={entry} conversation={conversation} />
      )}
      {entry.done?.calls && (
        <span className="meta row inline">
          {text.chat.calledFor({ tools: namesOf(entry.done.calls) })}
        </span>
      )}
      {receipts.map((receipt, index) => (
        <ReceiptCard key={index} receipt={receipt} at={entry.at} slots={slots} />
      ))}
      <span className="meta row inline">
        <time dateTime={new Date(entry.at).toISOString()}>{whenOf(entry.at, language)}</time>
      </span>
    </li>
  );
});

function OwnMessage(props: { entry: Entry; conversation: Conversation }): ReactNode {
  const { entry, conversation } = props;
  const text = useText();

  return (
    <li className="message stack" data-role="user" data-status={entry.status}>
      <span className="hidden-words">{text.common.you}</span>
      {entry.content !== "" && <div className="bubble verbatim">{entry.content}</div>}
      <FileLinks files={filesOf(entry)} />
      {entry.status === "queued" && (
        <span className="meta row inline">
          <IconClock size={13} aria-hidden /> {text.chat.queued}
        </span>
      )}
      {entry.status === "failed" && <Failed entry={entry} conversation={conversation} />}
    </li>
  );
}

/** What a person sent with their words, or what tools made for an answer. */
function filesOf({ files, done }: Entry): Entry["files"] {
  return files ?? done?.files;
}

/** Tools of the caller that a turn has ended with. */
function namesOf(calls: readonly { readonly tool: string }[]): string {
  return [...new Set(calls.map(({ tool }) => tool))].join(", ");
}

const TONE_ICONS = {
  waits: IconHourglassHigh,
  stopped: IconPlayerStop,
  failed: IconAlertTriangle,
} as const;

/**
 * What an answer that is none is: stopped, failed, or waiting for a person. What a provider said is
 * for operators: a server in dev mode alone sends details.
 */
function ToneNote({ tone, error }: { tone: Tone; error: Done["error"] }): ReactNode {
  const text = useText();
  const Icon = TONE_ICONS[tone];
  const { code = "", message, details } = error ?? {};

  return (
    <>
      <p className="notice-note small toolbar strong">
        <Icon size={14} aria-hidden />
        {text.chat.tones[tone]}
        {tone !== "stopped" && <code title={text.chat.errorCode}>{code}</code>}
      </p>
      {details !== undefined && code.startsWith("MODEL_") && (
        <details className="more small">
          <summary>{text.chat.details}</summary>
          <p className="verbatim">{message}</p>
        </details>
      )}
    </>
  );
}

/** Sends the words anew that no model has heard: once the set-up is mended, that is enough. */
function SendAgain({
  asked,
  onSend,
}: {
  asked: Entry | undefined;
  onSend: SendMessage;
}): ReactNode {
  const text = useText();
  if (asked?.role !== "user" || asked.content === "" || asked.files !== undefined) return null;

  return (
    <li className="toolbar">
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconRefresh size={14} />}
        onClick={() => onSend(asked.content)}
      >
        {text.common.sendAgain}
      </Button>
    </li>
  );
}

/** Goes on where the turn lost its model; what it has done is not done again. */
function Resume({ entry, conversation }: { entry: Entry; conversation: Conversation }): ReactNode {
  const text = useText();
  const resume = useMutation({ mutationFn: () => conversation.resume(entry.turnId ?? "") });

  return (
    <div className="toolbar">
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconRefresh size={14} />}
        loading={resume.isPending}
        onClick={() => resume.mutate()}
      >
        {text.chat.resume}
      </Button>
      {resume.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={resume.error} />
        </p>
      )}
    </div>
  );
}

function Failed({ entry, conversation }: { entry: Entry; conversation: Conversation }): ReactNode {
  const text = useText();
  const { problem } = entry;

  return (
    <div className="problem" role="alert">
      <p>
        <strong>{text.common.notSent}.</strong> {problem && <ErrorWords error={problem} />}
      </p>
      <div className="toolbar">
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconRefresh size={14} />}
          onClick={() => conversation.retry(entry.key)}
        >
          {text.common.sendAgain}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconTrash size={14} />}
          onClick={() => conversation.discard(entry.key)}
        >
          {text.common.discard}
        </Button>
      </div>
    </div>
  );
}

function Answering({ turn, onReattach }: { turn: RunningTurn; onReattach: () => void }): ReactNode {
  const text = useText();
  const words = shownText(turn.view);
  const working = turn.view.runs.findLast((run) => run.status === "running");
  const calling = turn.view.tools.findLast((tool) => tool.status === "running");

  return (
    <li
      className="message stack"
      data-role="assistant"
      data-streaming={turn.connection !== "lost" || undefined}
    >
      {words !== "" && <Markdown>{words}</Markdown>}
      {turn.connection === "lost" ? (
        <div className="problem" role="alert">
          <p>
            <strong>{text.chat.lost}.</strong> {text.chat.lostHint}
          </p>
          {turn.problem && (
            <p className="soft">
              <ErrorWords error={turn.problem} />
            </p>
          )}
          <div className="toolbar">
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconRefresh size={14} />}
              onClick={onReattach}
            >
              {text.chat.reattach}
            </Button>
          </div>
        </div>
      ) : (
        <span className="meta row inline">
          <span className="pulse" aria-hidden />
          {turn.connection === "reconnecting"
            ? text.shell.connection.reconnecting
            : turn.stopping
              ? text.chat.stopping
              : calling !== undefined
                ? text.panel.tools.calling({ tool: calling.tool })
                : (working?.label ?? text.chat.thinking)}
          {turn.connection === "connected" &&
            working !== undefined &&
            working.attempt > 1 &&
            ` · ${text.panel.attempt({ count: working.attempt })}`}
        </span>
      )}
      {turn.problem !== undefined && turn.connection !== "lost" && (
        <p className="meta row inline error-note tight">
          <ErrorWords error={turn.problem} />
        </p>
      )}
    </li>
  );
}

function Thinking(): ReactNode {
  const text = useText();
  return (
    <li className="message stack" data-role="assistant">
      <span className="meta row inline">
        <span className="pulse" aria-hidden />
        {text.chat.sending}
      </span>
    </li>
  );
}

/** What the person is asked stands in the conversation itself, with its buttons. */
function isForInbox({ status, context }: Escalation): boolean {
  return status === "open" && context["by"] !== "person";
}

/** The buttons that the last answer offers: each answers exactly what was shown. */
function Choices({ done, onSend }: { done: Done; onSend: SendMessage }): ReactNode {
  const text = useText();
  const usual =
    done.nextAction === "CONFIRM" || done.nextAction === "ASK_CONTINUE"
      ? text.chat.buttons[done.nextAction]
      : [];

  const buttons = done.uiHint?.buttons ?? usual;
  const confirmId = done.uiHint?.confirmId;
  if (buttons.length === 0) return null;

  return (
    <div className="choices toolbar">
      {buttons.map((label, index) => (
        <Button
          key={label}
          variant={index === 0 ? "filled" : "default"}
          onClick={() => onSend(label, { confirmId })}
        >
          {label}
        </Button>
      ))}
    </div>
  );
}
