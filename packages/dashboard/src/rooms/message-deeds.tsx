import { namesAndMore } from "./person-name.ts";
import { ActionIcon, Button, Popover } from "@mantine/core";
import {
  IconCornerUpLeft,
  IconMessage2,
  IconMessagePlus,
  IconPencil,
  IconThumbDown,
  IconThumbUp,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RoomMessage } from "dure/client";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useServerNow } from "../server-clock.ts";
import { SmallTip } from "./message-roles.tsx";
import { useSpeaker } from "./use-rooms.ts";
import { agoOf } from "./stand-of.ts";
import { WORK_WORDS } from "words:later/work";

/** What is written next is: an answer, the first words of a thread, or other words of one's own. */
export interface Answering {
  readonly how: "reply" | "thread" | "edit";
  readonly message: RoomMessage;
}

/** What a person may do with a message of a web room; shown where the message is pointed at. */
export function MessageDeeds({
  message,
  isInThread,
  onAnswer,
}: {
  message: RoomMessage;
  isInThread: boolean;
  onAnswer: (answering: Answering) => void;
}): ReactNode {
  const text = useText();
  const words = useWords(WORK_WORDS).deeds;
  const { name } = useSpeaker();
  const isOwn = message.authorKind === "person" && message.author === name;
  const deeds = [
    { how: "reply", label: text.rooms.reply({ name: message.authorName }), Icon: IconCornerUpLeft },
    ...(isInThread ? [] : [{ how: "thread", label: words.thread, Icon: IconMessagePlus } as const]),
    ...(isOwn ? [{ how: "edit", label: words.edit, Icon: IconPencil } as const] : []),
  ] as const;

  return (
    <div className="room-message-deeds shown-on-hover row tight">
      {message.authorKind === "agent" && <Feedback message={message} />}
      {deeds.map(({ how, label, Icon }) => (
        <ActionIcon
          key={how}
          variant="default"
          size="sm"
          aria-label={label}
          title={label}
          onClick={() => onAnswer({ how, message })}
        >
          <Icon size={14} aria-hidden />
        </ActionIcon>
      ))}
      {isOwn && <DeleteButton message={message} />}
    </div>
  );
}

/** 👍 and 👎 below an agent's answer. */
function Feedback({ message }: { message: RoomMessage }): ReactNode {
  const words = useWords(WORK_WORDS).deeds;
  const react = useReaction(message);
  const signs = [
    { emoji: "👍", label: words.good, Icon: IconThumbUp },
    { emoji: "👎", label: words.bad, Icon: IconThumbDown },
  ] as const;

  return signs.map(({ emoji, label, Icon }) => {
    const isSet = message.reactions.some((one) => one.emoji === emoji && one.own);
    return (
      <ActionIcon
        key={emoji}
        variant={isSet ? "filled" : "default"}
        size="sm"
        aria-label={label}
        title={label}
        aria-pressed={isSet}
        disabled={react.isPending}
        onClick={() => react.mutate({ emoji, isSet: !isSet })}
      >
        <Icon size={14} aria-hidden />
      </ActionIcon>
    );
  });
}

/** Signs of people below a message; one's own goes by a press. */
export function Reactions({ message }: { message: RoomMessage }): ReactNode {
  const { deeds: words, listed } = useWords(WORK_WORDS);
  const react = useReaction(message);
  if (message.reactions.length === 0) return null;

  return (
    <ul className="room-reactions row tight" aria-label={words.reactions}>
      {message.reactions.map(({ emoji, count, own, people }) => {
        const said = words.reaction({ emoji, count });
        const names = listed(namesAndMore(people, count));
        return (
          <li key={emoji}>
            <SmallTip label={people.length === 0 ? said : names} position="top-start">
              <button
                type="button"
                className="bare"
                aria-pressed={own}
                disabled={react.isPending}
                onClick={() => react.mutate({ emoji, isSet: !own })}
              >
                <span className="badge count" data-tone={own ? "now" : undefined} aria-hidden>
                  {emoji} {count}
                </span>
                <span className="hidden-words">
                  {people.length === 0 ? said : `${said}: ${names}`}
                </span>
              </button>
            </SmallTip>
          </li>
        );
      })}
    </ul>
  );
}

/** The thread below a message: how much was said there, and when last. */
export function AnswersBelow({ message }: { message: RoomMessage }): ReactNode {
  const { language } = useLanguage();
  const words = useWords(WORK_WORDS).thread;
  const { thread } = message;
  const now = useServerNow(thread != null, MINUTE_MS);
  if (thread == null) return null;

  const answers = words.answers({ count: thread.messages });
  const when = agoOf(thread.activeAt, language, now);
  return (
    <Link
      to="/rooms/$place"
      params={{ place: thread.id }}
      className="room-answers plain small row inline"
      title={words.open}
    >
      <IconMessage2 size={14} aria-hidden />
      <span className="hidden-words">{words.open}: </span>
      <strong>{answers}</strong>
      <span className="soft">· {when}</span>
    </Link>
  );
}

const MINUTE_MS = 60_000;

/** Sets an emoji, or takes the own one away; the log hears of it by its event. */
function useReaction(message: RoomMessage) {
  const { client } = useParts();
  const { who } = useSpeaker();
  return useMutation({
    mutationFn: ({ emoji, isSet }: { emoji: string; isSet: boolean }) =>
      client.rooms(who).react(message.id, emoji, { isSet }),
  });
}

/** Asks first: what is deleted does not come back. */
function DeleteButton({ message }: { message: RoomMessage }): ReactNode {
  const words = useWords(WORK_WORDS).deeds;
  const { client } = useParts();
  const { who } = useSpeaker();
  const [isOpen, setOpen] = useState(false);
  const remove = useMutation({
    mutationFn: () => client.rooms(who).delete(message.id),
    onSuccess: () => setOpen(false),
  });

  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <ActionIcon
          variant="default"
          size="sm"
          aria-label={words.delete}
          title={words.delete}
          onClick={() => setOpen(!isOpen)}
        >
          <IconTrash size={14} aria-hidden />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className="stack">
        <p>{words.deleteQuestion}</p>
        <Button
          size="compact-md"
          color="red"
          loading={remove.isPending}
          onClick={() => remove.mutate()}
        >
          {words.delete}
        </Button>
        {remove.error !== null && (
          <p className="error-note small" role="alert">
            <ErrorWords error={remove.error} />
          </p>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
