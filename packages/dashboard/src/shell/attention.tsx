import {
  useEffect,
  useRef,
  useState,
  type ReactNode,
  useId,
  type KeyboardEvent as PressedKey,
} from "react";
import { useParts } from "../app-parts.tsx";
import type { PageSpeaker } from "../rooms/room-data.ts";
import { useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { shownBy, type OverPageKind } from "./find-keys.ts";
import { useLanguage, useWords } from "../language.tsx";
import { NOTICES_WORDS } from "words:later/notices";
import { hasNew, noticeState, renewPush } from "./notices.ts";
import { FIND_WORDS } from "words:later/find";
import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useFound, type FoundThing } from "./use-found.ts";
import "./palette.css";
import { useAsked } from "../asked.ts";

const WAITING_EVERY_MS = 20_000;
/** The greatest number that the title shows. */
const MOST = 99;

/**
 * What waits, in the title and in notifications; the palette and the list of keys. `first`: what a
 * key has asked for before this was fetched.
 */
export function Attention({ first }: { first: OverPageKind | undefined }): ReactNode {
  const [shown, setShown] = useState(first);
  useWaiting();

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const onKey = (event: KeyboardEvent): void => {
      const wanted = shownBy(event);
      if (wanted === undefined || event.isComposing) return;
      event.preventDefault();
      setShown((before) => (before === wanted ? undefined : wanted));
    };
    window.addEventListener("keydown", onKey, { signal });
    return () => leaving.abort();
  }, []);

  if (shown === undefined) return null;
  const close = (): void => setShown(undefined);
  return shown === "palette" ? <Palette onClose={close} /> : <KeyList onClose={close} />;
}

/** Counts what waits for a reader: open escalations, and messages that were not seen. */
function useWaiting(): void {
  const { who, asks } = useSpeaker();
  const rooms = useRoomList(who);
  const open = useAsked(
    ["escalations", "open"],
    (client, signal) => client.escalations({ status: "open", limit: 100 }, { signal }),
    {
      refetchInterval: WAITING_EVERY_MS,
    },
  );

  const escalations = open.data?.items;
  const unread = who === undefined ? 0 : sumOf(rooms.data?.map((room) => room.unread ?? 0));
  useTitle((escalations?.length ?? 0) + unread);
  useNotice(escalations);
  useRenewedPush(who, asks);
}

/** Once on each visit, where this browser is told while no page is open. */
function useRenewedPush(who: PageSpeaker, asks: boolean): void {
  const { client } = useParts();
  const { language } = useLanguage();
  useEffect(() => {
    if (asks || noticeState() !== "push") return;
    renewPush(client.notifications(who), language).catch(() => undefined); // the next visit does
  }, [client, who, asks, language]);
}

function sumOf(numbers: readonly number[] = []): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}

/** Pages write the title; the count is put before whatever stands there. */
function useTitle(count: number): void {
  useEffect(() => {
    const mark = count > MOST ? `(${MOST}+) ` : `(${count}) `;
    const show = (): void => {
      const bare = document.title.replace(/^\(\d+\+?\) /u, "");
      const wanted = count === 0 ? bare : mark + bare;
      if (document.title !== wanted) document.title = wanted;
    };
    show();
    const observer = new MutationObserver(show);
    observer.observe(document.head, { subtree: true, childList: true, characterData: true });
    return () => observer.disconnect();
  }, [count]);
}

/**
 * Tells of what is new, to a reader who looks elsewhere and has asked for it, where the browser knows no
 * push service.
 */
function useNotice(open: readonly { readonly id: string }[] | undefined): void {
  const words = useWords(NOTICES_WORDS);
  const before = useRef<typeof open>(undefined);
  useEffect(() => {
    if (open === undefined) return;
    const isNew = before.current !== undefined && hasNew(before.current, open);
    before.current = open;
    if (!isNew || !document.hidden || noticeState() !== "page") return;
    const notice = new Notification(words.title({ count: open.length }), {
      tag: "dure-escalations",
    });
    notice.addEventListener("click", () => {
      window.focus();
      notice.close();
    });
  }, [open, words]);
}

// --- key list

/** The keys of the page. */
function KeyList({ onClose }: { onClose: () => void }): ReactNode {
  const { keys: words } = useWords(FIND_WORDS);
  const rows: readonly (readonly [string, string])[] = [
    ["⌘K / Ctrl+K", words.find],
    ["?", words.keys],
    ["Enter", words.send],
    ["Shift+Enter", words.line],
    ["@", words.mention],
    ["↑ ↓", words.move],
    ["J K", words.messages],
    ["X", words.mark],
    ["A R E", words.decide],
    ["R", words.reply],
    ["T", words.thread],
    ["Esc", words.leave],
  ];

  return (
    <OverPage label={words.title} onClose={onClose}>
      <h2>{words.title}</h2>
      <dl className="stack pairs">
        {rows.map(([key, deed]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{deed}</dd>
          </div>
        ))}
      </dl>
      <Button variant="default" onClick={onClose}>
        {words.close}
      </Button>
    </OverPage>
  );
}

// --- palette

/** Finds and opens anything, by keyboard. The browser puts the focus into the field. */
function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const words = useWords(FIND_WORDS);
  const list = useId();
  const [query, setQuery] = useState("");
  const [picked, setPicked] = useState(0);
  const found = useFound(query);
  const go = useGo();
  const at = Math.min(picked, found.length - 1);

  const open = (one: FoundThing | undefined): void => {
    if (one === undefined) return;
    onClose();
    go(one);
  };
  const onKeyDown = (event: PressedKey): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") open(found[at]);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found.length === 0) return;
    event.preventDefault();
    setPicked((at + step + found.length) % found.length);
  };

  return (
    <OverPage label={words.label} onClose={onClose}>
      <input
        className="palette-input"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${at}` : undefined}
        aria-label={words.placeholder}
        placeholder={words.placeholder}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setPicked(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette-list scroll" id={list} role="listbox" aria-label={words.label}>
        {found.map((one, index) => (
          <button
            type="button"
            tabIndex={-1}
            className="nav-item baseline between"
            key={`${one.kind} ${one.id}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(one)}
          >
            <span>{one.words}</span>
            <span className="soft small">{words.kinds[one.kind]}</span>
          </button>
        ))}
      </div>
      <p className="soft small" role="status">
        {found.length === 0 ? words.none({ query: query.trim() }) : words.hint}
      </p>
    </OverPage>
  );
}

function useGo(): (found: FoundThing) => void {
  const navigate = useNavigate();
  return ({ kind, id, place = "" }) => {
    switch (kind) {
      case "message":
        return void navigate({ to: "/rooms/$place", params: { place }, hash: id });
      case "agent":
        return void navigate({ to: "/agents/$agent", params: { agent: id } });
      case "room":
        return void navigate({ to: "/rooms/$place", params: { place: id } });
      case "session":
        return void navigate({ to: "/chat/$session", params: { session: id } });
      case "job":
        return void navigate({ to: "/jobs/$id", params: { id } });
      case "run":
        return void navigate({ to: "/plans/runs/$run", params: { run: id } });
      case "events":
        return void navigate({ to: "/events", search: { q: id } });
      case "page":
        return void navigate({ to: id });
      default:
        return kind satisfies never;
    }
  };
}

// --- over page

/** A window over the page; the browser keeps the focus in it and closes it by Escape. */
function OverPage(props: { label: string; onClose: () => void; children: ReactNode }): ReactNode {
  const { label, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    const onClick = (event: MouseEvent): void => {
      if (event.target === dialog.current) onClose(); // on the page behind
    };
    dialog.current?.addEventListener("click", onClick, { signal: leaving.signal });
    return () => leaving.abort();
  }, [onClose]);

  return (
    <dialog ref={dialog} className="over-page" aria-label={label} onClose={onClose}>
      <div className="over-page-body stack loose">{children}</div>
    </dialog>
  );
}
