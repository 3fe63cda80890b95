import { Button } from "@mantine/core";
import {
  IconAlertTriangle,
  IconClock,
  IconCornerUpLeft,
  IconHelpCircle,
  IconInfoCircle,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Room, RoomAgent, RoomMessage } from "dure/client";
import { memo, useMemo, type ReactNode, useRef } from "react";
import { AgentLink } from "../agents/agent-link.tsx";
import { useParts } from "../app-parts.tsx";
import { Markdown } from "../chat/markdown.tsx";
import { actionLabel, decisionOf } from "../escalations/words.ts";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { momentOf, whenOf } from "../when.ts";
import { mentionChips, plainOf } from "./mention.ts";
import { AnswersBelow, MessageDeeds, Reactions, type Answering } from "./message-deeds.tsx";
import { RoleMark } from "./message-roles.tsx";
import type { PageSpeaker } from "./room-data.ts";
import { WORK_WORDS } from "words:later/work";
import { useEscalations, useIsAdmin, useSpeaker } from "./use-rooms.ts";

interface MessageRowProps {
  readonly who: PageSpeaker;
  readonly message: RoomMessage;
  /** Stands below another one of the same author: needs no name. */
  readonly under: boolean;
  readonly lit: boolean;
  readonly agents: readonly RoomAgent[];
  readonly nameOf: (agent: string) => string;
  /** Agents that answer it now. */
  readonly working: readonly string[] | undefined;
  /** The message that it answers, unless that stands right above. */
  readonly replied: RoomMessage | undefined;
  readonly onJump: (message: string) => void;
  /** Shows the message in the panel. */
  readonly onInspect: (message: string) => void;
  /** Undefined where a person cannot write from here. */
  readonly onAnswer: ((answering: Answering) => void) | undefined;
  readonly isInThread: boolean;
}

export const MessageRow = memo(function MessageRow(props: MessageRowProps): ReactNode {
  const { who, message, under, lit, agents, nameOf, replied, onJump, onAnswer } = props;
  const text = useText();
  const words = useWords(WORK_WORDS).deeds;
  if (message.mark === "notice") return <NoticeRow {...props} />;

  const time = <TimeLink message={message} isHidden={under} onJump={onJump} />;

  return (
    <li
      className="room-message"
      id={message.id}
      tabIndex={-1}
      data-kind={message.authorKind}
      data-under={under || undefined}
      data-lit={lit || undefined}
      data-delivery={message.delivery}
    >
      {under ? time : <Portrait name={message.authorName} kind={message.authorKind} />}
      <div className="room-message-body stack tight">
        <RowHead message={message} under={under} time={time} />
        {replied !== undefined && (
          <button
            type="button"
            className="room-reply meta row inline bare"
            onClick={() => onJump(replied.id)}
          >
            <IconCornerUpLeft size={13} aria-hidden />
            <span className="rigid">{text.rooms.replyTo({ name: replied.authorName })}</span>
            <span className="room-reply-words clip">{plainOf(replied, agents)}</span>
          </button>
        )}
        {message.deletedAt !== null ? (
          <p className="soft">{words.deleted}</p>
        ) : (
          !isFilesAlone(message) && (
            <RoomText text={message.text} mentioned={message.mentions} agents={agents} />
          )
        )}
        {under && isEdited(message) && <span className="soft small">{text.rooms.edited}</span>}
        <Attachments message={message} who={who} />
        <Buttons message={message} />
        <Reactions message={message} />
        {!props.isInThread && <AnswersBelow message={message} />}
        <DeliveryNote message={message} />
      </div>
      <RoleMark
        message={message}
        working={props.working}
        nameOf={nameOf}
        onOpen={() => props.onInspect(message.id)}
      />
      {onAnswer !== undefined && message.deletedAt === null && (
        <MessageDeeds message={message} isInThread={props.isInThread} onAnswer={onAnswer} />
      )}
    </li>
  );
});

function isEdited({ editedAt, deletedAt }: RoomMessage): boolean {
  return editedAt !== null && deletedAt === null;
}

/** When it was said: the address of the message. */
function TimeLink(props: {
  message: RoomMessage;
  /** Until the message is pointed at. */
  isHidden?: boolean;
  onJump: (message: string) => void;
}): ReactNode {
  const { message, isHidden = false, onJump } = props;
  const { language } = useLanguage();
  const words = useWords(WORK_WORDS);
  const moment = momentOf(message.at, language);

  return (
    <Link
      to="/rooms/$place"
      params={{ place: message.place }}
      hash={message.id}
      className={`room-message-time meta plain ${isHidden ? "shown-on-hover" : ""}`}
      title={moment}
      aria-label={words.linkTo({ moment })}
      onClick={() => onJump(message.id)}
    >
      <time dateTime={new Date(message.at).toISOString()}>{whenOf(message.at, language)}</time>
    </Link>
  );
}

/** Who speaks, and when; under the same name only for those who listen. */
function RowHead({
  message,
  under,
  time,
}: {
  message: RoomMessage;
  under: boolean;
  time: ReactNode;
}): ReactNode {
  const text = useText();
  return (
    <p className={under ? "hidden-words" : "room-message-head meta cluster baseline"}>
      <strong>
        {message.authorKind === "agent" ? (
          <AgentLink id={message.author}>{message.authorName}</AgentLink>
        ) : (
          message.authorName
        )}
      </strong>
      {message.authorKind !== "person" && (
        <span className="badge">{text.rooms[message.authorKind]}</span>
      )}
      {!under && time}
      {!under && isEdited(message) && <span>{text.rooms.edited}</span>}
      {message.mark === "reminder" && <span className="badge">{text.rooms.reminder}</span>}
    </p>
  );
}

/** A line of dure in an agent's name: quiet, unless it asks something. */
function NoticeRow({ message, lit, agents, onJump }: MessageRowProps): ReactNode {
  const text = useText();
  const asks = answersOf(message).length > 0 || message.buttons?.[0]?.for !== undefined;
  const Icon = asks ? IconHelpCircle : IconInfoCircle;

  return (
    <li
      className="room-notice small soft"
      id={message.id}
      tabIndex={-1}
      data-asks={asks || undefined}
      data-lit={lit || undefined}
    >
      <Icon size={15} aria-hidden />
      <div className="stack">
        <div className="room-notice-words row baseline">
          <span className="badge">{text.rooms.notice}</span>
          <span className="hidden-words">{message.authorName}</span>
          <RoomText text={message.text} mentioned={message.mentions} agents={agents} />
        </div>
        <Buttons message={message} />
        <QuestionButtons message={message} />
        <WaitButtons message={message} />
        <DeliveryNote message={message} />
      </div>
      <TimeLink message={message} onJump={onJump} />
    </li>
  );
}

/** On other platforms people write there themselves. */
export function mayWrite(place: Room): boolean {
  return place.adapter === "web" && place.state !== "closed";
}

/** Markdown with mentions as chips. */
export function RoomText({
  text,
  mentioned,
  agents,
}: {
  text: string;
  mentioned: readonly string[];
  agents: readonly RoomAgent[];
}): ReactNode {
  const plugins = useMemo(() => [mentionChips(mentioned, agents)], [mentioned, agents]);
  return <Markdown plugins={plugins}>{text}</Markdown>;
}

export function Portrait({
  name,
  kind,
}: {
  name: string;
  kind: RoomMessage["authorKind"];
}): ReactNode {
  return (
    <span className="portrait" data-kind={kind} aria-hidden>
      {Array.from(name.trim())[0]?.toUpperCase() ?? "?"}
    </span>
  );
}

/** Its words are the names of its files, which stand below. Pure. */
function isFilesAlone({ text, attachments }: RoomMessage): boolean {
  return attachments.length > 0 && text === attachments.map(({ name }) => `[${name}]`).join(" ");
}

/**
 * Where the page shows a file of a message from: a person without a token says who they are. Pure.
 */
function fileAddress(url: string, who: PageSpeaker): string {
  const isOurs = url.startsWith("/v1/rooms/");
  return isOurs && who !== undefined ? `${url}?${new URLSearchParams({ as_person: who })}` : url;
}

type RoomAttachment = RoomMessage["attachments"][number];

/** An image that this server keeps; what is elsewhere is a link: it would learn who reads. */
function isShown({ url, ...facts }: RoomAttachment): boolean {
  const { contentType } = facts as { readonly contentType?: string };
  return (url ?? "").startsWith("/v1/rooms/") && (contentType ?? "").startsWith("image/");
}

function Attachments({ message, who }: { message: RoomMessage; who: PageSpeaker }): ReactNode {
  if (message.attachments.length === 0) return null;
  return (
    <ul className="file-links stack tight">
      {message.attachments.map((attachment, index) => (
        <li key={index}>
          <OneAttachment attachment={attachment} who={who} />
        </li>
      ))}
    </ul>
  );
}

function OneAttachment(props: { attachment: RoomAttachment; who: PageSpeaker }): ReactNode {
  const { attachment, who } = props;
  const { name, url = "" } = attachment;
  if (!/^(https?:\/\/|\/v1\/rooms\/)/.test(url)) return name ?? "";
  const address = fileAddress(url, who);
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {isShown(attachment) ? <img src={address} alt={name ?? ""} loading="lazy" /> : (name ?? url)}
    </a>
  );
}

function DeliveryNote({ message }: { message: RoomMessage }): ReactNode {
  const text = useText();
  const { delivery, deliveryError } = message;
  if (delivery === "sent") return null;

  if (delivery === "queued") {
    return (
      <p className="meta row tight inline">
        <IconClock size={13} aria-hidden />
        {text.rooms.delivery.queued}
      </p>
    );
  }

  return (
    <p className="meta row tight inline" data-bad>
      <IconAlertTriangle size={13} aria-hidden />
      {[text.rooms.delivery[delivery], deliveryError?.message ?? deliveryError?.code]
        .filter(Boolean)
        .join(": ")}
    </p>
  );
}

/**
 * What a message offers to answer. `lift:` opens the place again, for which the page has a button
 * of its own; see `WaitButtons` and `QuestionButtons` for the others.
 */
function answersOf({ buttons }: RoomMessage): readonly {
  readonly escalation: string;
  readonly value: string;
  readonly label: string;
  readonly code?: string | undefined;
}[] {
  return (buttons ?? []).flatMap(({ value, label, code, for: person }) => {
    const colon = value.indexOf(":");
    return person !== undefined || /^(lift|order|retry):/.test(value)
      ? []
      : [{ escalation: value.slice(0, colon), value: value.slice(colon + 1), label, code }];
  });
}

/**
 * Buttons answer the question that the message asks; the first answer counts, wherever it was
 * given.
 */
function Buttons({ message }: { message: RoomMessage }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();
  const isAdmin = useIsAdmin();
  const buttons = answersOf(message);
  const escalations = useEscalations(isAdmin && buttons.length > 0);

  const answer = useMutation({
    mutationFn: ({ escalation, value }: { escalation: string; value: string }) =>
      client.answerEscalation(escalation, { value }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["escalations"] }),
  });

  if (buttons.length === 0) return null;
  if (!isAdmin) return <p className="soft small">{text.escalations.notYours}</p>;

  const asked = escalations.data?.find(({ id }) => id === buttons[0]?.escalation);

  if (asked !== undefined && asked.status !== "open") {
    const decision = decisionOf(asked, text);
    return (
      <p className="soft small">
        {asked.status === "dismissed"
          ? decision
          : text.rooms.buttonsAnswered({
              answer: decision,
              who: asked.resolvedByPerson ?? asked.resolvedBy ?? "",
            })}
      </p>
    );
  }

  return (
    <>
      <div className="toolbar">
        {buttons.map((button, index) => (
          <Button
            key={button.value}
            size="compact-md"
            variant={index === 0 ? "filled" : "default"}
            disabled={answer.isPending}
            loading={answer.isPending && answer.variables.value === button.value}
            onClick={() => answer.mutate(button)}
          >
            {actionLabel(button, text)}
          </Button>
        ))}
      </div>
      {answer.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={answer.error} />
        </p>
      )}
    </>
  );
}

// --- question buttons

/**
 * Under a question that is for one person: their yes and no. Others read that it is not for them. When
 * it is answered the message says so, and the buttons go.
 */
function QuestionButtons({ message }: { message: RoomMessage }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const { who, name } = useSpeaker();
  const group = useRef<HTMLDivElement>(null);
  const answer = useMutation({
    mutationFn: (value: string) => client.rooms(who).answer(message.place, value),
    // The focused button goes away; the message that says the answer is read next.
    onSuccess: () => group.current?.closest("li")?.focus(),
  });
  const buttons = (message.buttons ?? []).filter((button) => button.for !== undefined);

  if (buttons.length === 0) return null;
  if (buttons[0]?.for !== name) {
    return <p className="soft small">{text.rooms.question.notYours}</p>;
  }
  return (
    <>
      <div className="toolbar" role="group" aria-label={text.rooms.question.answers} ref={group}>
        {buttons.map((button, index) => (
          <Button
            key={button.value}
            size="compact-md"
            variant={index === 0 ? "filled" : "default"}
            disabled={answer.isPending || answer.isSuccess}
            loading={answer.isPending && answer.variables === button.value}
            onClick={() => answer.mutate(button.value)}
          >
            {actionLabel(button, text)}
          </Button>
        ))}
      </div>
      {answer.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={answer.error} />
        </p>
      )}
    </>
  );
}

// --- wait buttons

/**
 * Under the notice of an agent that waits for its model: a retry and a stop. Under the notice that
 * it could not answer: a retry that goes on from where it ended. For all who may speak here.
 */
function WaitButtons({ message }: { message: RoomMessage }): ReactNode {
  const words = useText().rooms.wait;
  const { client } = useParts();
  const { who } = useSpeaker();
  const values = (message.buttons ?? []).map(({ value }) => value);
  const press = useMutation({
    mutationFn: async (value: string): Promise<void> => {
      const rooms = client.rooms(who);
      if (value === "order:stop") await rooms.stopRoom(message.place);
      else if (value === "order:retry") await rooms.retry(message.place);
      else await rooms.retry(message.place, value.slice("retry:".length));
    },
  });
  const shown = values.flatMap((value) => {
    if (value === "order:stop") return [{ value, label: words.stop }];
    if (value === "order:retry") return [{ value, label: words.now }];
    return value.startsWith("retry:") ? [{ value, label: words.resume }] : [];
  });

  if (shown.length === 0) return null;
  return (
    <>
      <div className="toolbar">
        {shown.map(({ value, label }) => (
          <Button
            key={value}
            size="compact-md"
            variant="default"
            disabled={press.isPending}
            loading={press.isPending && press.variables === value}
            onClick={() => press.mutate(value)}
          >
            {label}
          </Button>
        ))}
      </div>
      {press.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={press.error} />
        </p>
      )}
    </>
  );
}
