import { useMemo } from "react";
import { actorOf } from "../actor.ts";
import { useText } from "../language.tsx";
import { useAgents, useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { useServiceName } from "../service-names.ts";
import type { EventNames } from "./names.ts";

/** What ids of events are called, as far as the reader may know. */
export function useEventNames(): EventNames {
  const text = useText();
  const { who } = useSpeaker();
  const { data: agents } = useAgents();
  const { data: rooms } = useRoomList(who);
  const serviceName = useServiceName();

  return useMemo(() => {
    const { places } = text.events;
    const nameOf = (id: string): string =>
      agents?.find((agent) => agent.id === id)?.displayName ?? id;
    return {
      agent: nameOf,
      actor: (by) => actorOf(by, { text, nameOf }),
      service: (name) =>
        name === undefined ? text.events.aService : (serviceName(name) ?? nameOf(name)),
      place: (id) => {
        if (!id) return places.room;
        const room = rooms?.find((one) => one.id === id);
        if (room?.kind === "direct") return places.direct(nameOf(room.agent ?? ""));
        if (room !== undefined) return places.named(room.name);

        return id.startsWith("thread_") ? places.thread : places.room;
      },
    };
  }, [text, agents, rooms, serviceName]);
}
