import { systemClock, type Room } from "dure/client";
import { useRoom } from "dure/react";
import { useEffect, useMemo } from "react";
import { useParts } from "../app-parts.tsx";
import { othersOf, type Others } from "./mention.ts";
import { mayWrite } from "./message-row.tsx";
import type { PageSpeaker } from "./room-data.ts";
import { useSpeaker } from "./use-rooms.ts";

/** A page that is looked at says so; the server forgets it after 20 s. Milliseconds. */
const SAY_EVERY_MS = 8_000;
/** While a person types it is said once in so long; the server tells others no oftener than in 3 s. */
const TYPING_EVERY_MS = 3_100;
/** The server takes a person to write for so long after that, milliseconds. */
const TYPING_LASTS_MS = 6_000;

/** Says to others that this person looks at a place, and that they write. */
export interface Presence {
  /** A key was pressed in the field. */
  readonly typed: () => void;
  /** What was written is sent, or taken back. */
  readonly done: () => void;
}

/** Says that a person is in one place, no oftener than others are told. */
class SaidPresence implements Presence {
  readonly #say: (typing: boolean) => void;
  /** When it was last said that the person types. */
  #saidAt = -Infinity;

  constructor(say: (typing: boolean) => void) {
    this.#say = say;
  }

  readonly here = (): void => {
    if (!document.hidden && !this.#isTyping) this.#say(false);
  };

  readonly typed = (): void => {
    if (systemClock.monotonic() - this.#saidAt < TYPING_EVERY_MS) return;
    this.#saidAt = systemClock.monotonic();
    this.#say(true);
  };

  readonly done = (): void => {
    if (this.#isTyping) this.#say(false);
    this.#saidAt = -Infinity;
  };

  get #isTyping(): boolean {
    return systemClock.monotonic() - this.#saidAt < TYPING_LASTS_MS;
  }
}

/** A hidden tab says nothing, and a room of one person has no one to say it to. */
export function usePresence(who: PageSpeaker, place: Room): Presence {
  const { client } = useParts();
  const { id } = place;
  const isShared = mayWrite(place) && place.kind !== "direct" && !id.startsWith("private_");
  const presence = useMemo(
    () =>
      new SaidPresence((typing) => {
        // What is lost is said again; others only miss that the person is there.
        if (isShared) client.rooms(who).bePresent(id, { typing }).catch(ignore);
      }),
    [client, who, id, isShared],
  );

  useEffect(() => {
    const { here } = presence;
    here();
    const cancel = systemClock.every(SAY_EVERY_MS, here);
    document.addEventListener("visibilitychange", here);
    return () => {
      cancel();
      document.removeEventListener("visibilitychange", here);
    };
  }, [presence]);

  return presence;
}

/** People who look at the place now, besides the reader. */
export function useOthersHere(who: PageSpeaker, place: Room): Others {
  const { people } = useRoom(place.id, { asPerson: who });
  const { name } = useSpeaker();
  return othersOf(people?.here, people?.hereCount, name);
}

function ignore(): void {}
