import { ActionIcon } from "@mantine/core";
import { IconArrowUp, IconCornerUpLeft, IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ulid, type Room, type RoomAgent } from "dure/client";
import { roomOf } from "dure/react";
import {
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { useParts } from "../app-parts.tsx";
import { fitHeight, isComposing, takePasted } from "../chat/composer.tsx";
import { useAttached, useDroppedFiles } from "../files/attached.ts";
import { AttachButton, FileTray } from "../files/file-tray.tsx";
import { useText, useWords } from "../language.tsx";
import { mentionable, mentionBegun, mentionWritten, plainOf, type Nameable } from "./mention.ts";
import { ErrorWords } from "../problem.tsx";
import type { Answering } from "./message-deeds.tsx";
import { mayWrite, Portrait } from "./message-row.tsx";
import type { PageSpeaker } from "./room-data.ts";
import { platformName } from "./platform.tsx";
import { OnlineDot } from "./room-list.tsx";
import type { Presence } from "./use-presence.ts";
import { WORK_WORDS } from "words:later/work";

/** Whom `@` offers: an agent, or a person who was seen here. */
interface Callable extends Nameable {
  /** Undefined: a person. */
  readonly agent?: RoomAgent | undefined;
}

/**
 * Where a message is written. `@` offers agents and people; Enter sends, but never while a syllable is being
 * composed.
 */
export function RoomComposer(props: {
  who: PageSpeaker;
  place: Room;
  /** `seq` of the newest message. */
  last: number;
  agents: readonly RoomAgent[];
  /** Names of people who wrote here. */
  people: readonly string[];
  presence: Presence;
  /** The message that is answered, continued in a thread, or edited. */
  answering: Answering | undefined;
  /** It was, or shall not be any more. */
  onAnswered: () => void;
}): ReactNode {
  const { who, place, last, agents, people, presence, answering, onAnswered } = props;
  const candidates = useMemo(() => candidatesOf(agents, people), [agents, people]);
  const { hub, roomPosts } = useParts();
  const { field, message, caret, setCaret, write, writeAt } = useDraft(place.id);
  const id = useId();
  const attached = useAttached((client, ...upload) =>
    client.rooms(who).upload(place.id, ...upload),
  );
  const attach = (files: Iterable<File>): void => {
    attached.add(files);
    field.current?.focus();
  };
  useDroppedFiles(mayWrite(place) ? attach : undefined);
  const { begun, offered, active, choose, dismiss } = useCandidates(message, caret, candidates);
  useEffect(() => {
    if (answering !== undefined) field.current?.focus();
  }, [field, answering]);
  useEditedWords(answering, message, write);
  const written = useWritten(who, place);

  const take = (one: Callable): void => {
    if (begun === undefined) return;

    const written = mentionWritten({ text: message, caret, begun }, one, candidates);
    writeAt(written.text, written.caret);
    choose(0);
    field.current?.focus();
  };

  const names = attached.all.map(({ name }) => `[${name}]`).join(" ");
  const isEmpty = message.trim() === "" && names === "";

  const submit = (): void => {
    if (isEmpty || !attached.isReady || written.isPending) return;
    const done = (): void => {
      presence.done();
      write("", 0);
      attached.clear();
      choose(0);
      onAnswered();
      field.current?.focus();
    };
    if (answering !== undefined && answering.how !== "reply") {
      written.mutate(
        { ...answering, text: message.trim() },
        { onSuccess: (goTo) => (done(), goTo()) },
      );
      return;
    }

    roomPosts.send({
      who,
      place: place.id,
      text: message.trim() || names,
      files: attached.all.flatMap(({ stored }) => stored?.id ?? []),
      after: last,
      replyTo: answering?.message.id,
      onPosted: () => roomOf(hub, place.id, who).grow(),
    });
    done();
  };

  const moves: Readonly<Record<KeyMove, () => void>> = {
    next: () => choose((active + 1) % offered.length),
    previous: () => choose((active + offered.length - 1) % offered.length),
    take: () => take(offered[active]!),
    dismiss: () => dismiss(begun?.from),
    "leave-reply": onAnswered,
    send: submit,
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (isComposing(event)) return; // this key ends a syllable, or belongs to it

    const move = decideKey(event, {
      isOffered: offered[active] !== undefined,
      isReply: answering !== undefined,
    });

    if (move === undefined) return;

    event.preventDefault();
    moves[move]();
  };

  if (!mayWrite(place)) return <NoComposer place={place} />;

  return (
    <div className="composer room-composer" onPaste={(event) => takePasted(event, attach)}>
      {offered.length > 0 && (
        <Candidates id={id} offered={offered} active={active} onTake={take} onPoint={choose} />
      )}
      {answering !== undefined && (
        <AnsweringNote
          answering={answering}
          agents={agents}
          onLeave={() => (onAnswered(), field.current?.focus())}
        />
      )}
      {written.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={written.error} />
        </p>
      )}
      <FileTray attached={attached} />
      <div className="composer-box row bottom">
        <AttachButton onFiles={attach} />
        <Field
          id={id}
          field={field}
          place={place}
          message={message}
          offered={offered}
          active={active}
          onWrite={(next, at) => {
            write(next, at);
            if (next === "") presence.done();
            else presence.typed();
            choose(0);
          }}
          onCaret={setCaret}
          onBlur={() => dismiss(begun?.from)}
          onFocus={() => dismiss(undefined)}
          onKeyDown={onKeyDown}
        />
        <SendButton isEmpty={isEmpty || !attached.isReady} onSend={submit} />
      </div>
      <Hints id={`${id}-hint`} offered={offered.length} />
    </div>
  );
}

/** What is being written in a place, kept over other pages and a reload. */
function useDraft(place: string): {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly message: string;
  readonly caret: number;
  readonly setCaret: (caret: number) => void;
  readonly write: (message: string, caret: number) => void;
  /** The same, and the caret of the field goes there. */
  readonly writeAt: (message: string, caret: number) => void;
} {
  const { drafts } = useParts();
  const [message, setMessage] = useState(() => drafts.of(place));
  const [caret, setCaret] = useState(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const caretToSet = useRef<number>(undefined);

  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;

    fitHeight(element);
    if (caretToSet.current === undefined) return;

    element.setSelectionRange(caretToSet.current, caretToSet.current);
    caretToSet.current = undefined;
  });

  const write = (next: string, at: number): void => {
    setMessage(next);
    setCaret(at);
    drafts.keep(place, next);
  };

  const writeAt = (next: string, at: number): void => {
    caretToSet.current = at;
    write(next, at);
  };

  return { field, message, caret, setCaret, write, writeAt };
}

function Field({
  id,
  field,
  place,
  message,
  offered,
  active,
  onWrite,
  onCaret,
  ...events
}: {
  id: string;
  field: RefObject<HTMLTextAreaElement | null>;
  place: Room;
  message: string;
  offered: readonly Callable[];
  active: number;
  onWrite: (message: string, caret: number) => void;
  onCaret: (caret: number) => void;
  onBlur: () => void;
  onFocus: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}): ReactNode {
  const words = useWords(WORK_WORDS).composer;
  const chosen = offered[active];

  return (
    <textarea
      {...events}
      ref={field}
      rows={1}
      value={message}
      onChange={({ currentTarget }) => onWrite(currentTarget.value, currentTarget.selectionStart)}
      onSelect={({ currentTarget }) => onCaret(currentTarget.selectionStart)}
      placeholder={words.placeholder({ kind: place.kind, name: place.name })}
      aria-label={words.label}
      aria-describedby={`${id}-hint`}
      aria-autocomplete="list"
      aria-controls={chosen === undefined ? undefined : `${id}-list`}
      aria-activedescendant={chosen === undefined ? undefined : `${id}-${active}`}
      enterKeyHint="send"
    />
  );
}

/** Pure. */
function candidatesOf(
  agents: readonly RoomAgent[],
  people: readonly string[],
): readonly Callable[] {
  return [
    ...agents.map((agent) => ({ id: agent.id, displayName: agent.displayName, agent })),
    ...people.map((name) => ({ id: name, displayName: name })),
  ];
}

/** Who is offered where a mention was begun, and the one that is chosen. */
function useCandidates(
  message: string,
  caret: number,
  candidates: readonly Callable[],
): {
  readonly begun: ReturnType<typeof mentionBegun>;
  readonly offered: readonly Callable[];
  readonly active: number;
  readonly choose: (index: number) => void;
  /** Nothing is offered for the mention that begins there. */
  readonly dismiss: (from: number | undefined) => void;
} {
  const [chosen, choose] = useState(0);
  const [dismissed, dismiss] = useState<number>();
  const begun = mentionBegun(message, caret);
  const isOffered = begun !== undefined && begun.from !== dismissed;
  const offered = isOffered ? mentionable(begun.query, candidates) : [];

  return { begun, offered, active: Math.min(chosen, offered.length - 1), choose, dismiss };
}

function SendButton({ isEmpty, onSend }: { isEmpty: boolean; onSend: () => void }): ReactNode {
  const words = useWords(WORK_WORDS);
  return (
    <ActionIcon
      size={36}
      radius="xl"
      aria-label={words.composer.send}
      disabled={isEmpty}
      onClick={onSend}
    >
      <IconArrowUp size={19} />
    </ActionIcon>
  );
}

function Hints({ id, offered }: { id: string; offered: number }): ReactNode {
  const words = useWords(WORK_WORDS).composer;
  return (
    <>
      <p id={id} className="composer-hint meta">
        {words.hint}
      </p>
      <p className="hidden-words" role="status">
        {offered > 0 && words.offered({ count: offered })}
      </p>
    </>
  );
}

type KeyMove = "next" | "previous" | "take" | "dismiss" | "leave-reply" | "send";

/** What a key does in the field; undefined: what it does in any field. Pure. */
function decideKey(
  { key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">,
  { isOffered, isReply }: { readonly isOffered: boolean; readonly isReply: boolean },
): KeyMove | undefined {
  if (isOffered) {
    if (key === "ArrowDown") return "next";
    if (key === "ArrowUp") return "previous";
    if ((key === "Enter" || key === "Tab") && !shiftKey) return "take";
    if (key === "Escape") return "dismiss";
  }

  if (key === "Escape" && isReply) return "leave-reply";
  return key === "Enter" && !shiftKey ? "send" : undefined;
}

function NoComposer({ place }: { place: Room }): ReactNode {
  const words = useWords(WORK_WORDS).composer;
  return (
    <p className="room-no-composer soft empty brief">
      {place.state === "closed"
        ? words.closed
        : words.elsewhere({ adapter: platformName(place.adapter) })}
    </p>
  );
}

/** Who can be mentioned where the caret stands. */
function Candidates({
  id,
  offered,
  active,
  onTake,
  onPoint,
}: {
  id: string;
  offered: readonly Callable[];
  active: number;
  onTake: (one: Callable) => void;
  onPoint: (index: number) => void;
}): ReactNode {
  const text = useText();
  const words = useWords(WORK_WORDS);
  return (
    <div
      className="mention-list card"
      id={`${id}-list`}
      role="listbox"
      aria-label={words.composer.candidates}
    >
      {offered.map((one, index) => (
        <div
          key={`${one.agent === undefined ? "person" : "agent"} ${one.id}`}
          id={`${id}-${index}`}
          role="option"
          className="nav-item"
          aria-selected={index === active}
          tabIndex={-1}
          onPointerDown={(event) => {
            event.preventDefault(); // the field keeps the focus
            onTake(one);
          }}
          onPointerMove={() => onPoint(index)}
        >
          <Portrait name={one.displayName} kind={one.agent === undefined ? "person" : "agent"} />
          <span className="strong">{one.displayName}</span>
          <span className="soft small">{one.agent === undefined ? text.rooms.person : one.id}</span>
          {one.agent !== undefined && <OnlineDot agent={one.agent} />}
        </div>
      ))}
    </div>
  );
}

function AnsweringNote({
  answering: { how, message },
  agents,
  onLeave,
}: {
  answering: Answering;
  agents: readonly RoomAgent[];
  onLeave: () => void;
}): ReactNode {
  const text = useText();
  const words = useWords(WORK_WORDS).deeds;
  const said = { reply: text.rooms.replying({ name: message.authorName }), ...words.answering };
  return (
    <p className="room-replying small soft row" role="status">
      <IconCornerUpLeft size={14} aria-hidden />
      <span className="rigid">{said[how]}</span>
      <span className="room-reply-words clip grow">{plainOf(message, agents)}</span>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={how === "reply" ? text.rooms.noReply : words.leave}
        onClick={onLeave}
      >
        <IconX size={14} aria-hidden />
      </ActionIcon>
    </p>
  );
}

/** The words of a message that is to be edited stand in the field. */
function useEditedWords(
  answering: Answering | undefined,
  message: string,
  write: (message: string, caret: number) => void,
): void {
  const onEdit = useEffectEvent((text: string) => {
    if (message.trim() === "") write(text, text.length);
  });
  useEffect(() => {
    if (answering?.how === "edit") onEdit(answering.message.text);
  }, [answering]);
}

/** Writes the first words of a thread, or edits a message; gives the way to where it stands. */
function useWritten(who: PageSpeaker, place: Room) {
  const { client } = useParts();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async ({ how, message, text }: Answering & { text: string }) => {
      const rooms = client.rooms(who);
      if (how === "edit") {
        await rooms.edit(message.id, text);
        return () => {};
      }
      const clientId = ulid();
      const posted = await rooms.postBelow(place.id, { text, below: message.id, clientId });
      return () => void navigate({ to: "/rooms/$place", params: { place: posted.place } });
    },
  });
}
