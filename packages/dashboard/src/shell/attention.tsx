import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { shownBy, type OverPageKind } from "./find-keys.ts";
import { KeyList } from "./key-list.tsx";
import { areNoticesOn, hasNew } from "./notices.ts";
import { Palette } from "./palette.tsx";
import { useFindWords } from "./palette-words.ts";

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
  const { client } = useParts();
  const { who } = useSpeaker();
  const rooms = useRoomList(who);
  const open = useQuery({
    queryKey: ["escalations", "open"],
    queryFn: ({ signal }) => client.escalations({ status: "open", limit: 100 }, { signal }),
    refetchInterval: WAITING_EVERY_MS,
  });

  const escalations = open.data?.items;
  const unread = who === undefined ? 0 : sumOf(rooms.data?.map((room) => room.unread ?? 0));
  useTitle((escalations?.length ?? 0) + unread);
  useNotice(escalations);
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

/** Tells of what is new, to a reader who looks elsewhere and has asked for it. */
function useNotice(open: readonly { readonly id: string }[] | undefined): void {
  const words = useFindWords().notices;
  const before = useRef<typeof open>(undefined);
  useEffect(() => {
    if (open === undefined) return;
    const isNew = before.current !== undefined && hasNew(before.current, open);
    before.current = open;
    if (!isNew || !document.hidden || !areNoticesOn()) return;
    const notice = new Notification(words.title(open.length), { tag: "dure-escalations" });
    notice.addEventListener("click", () => {
      window.focus();
      notice.close();
    });
  }, [open, words]);
}
