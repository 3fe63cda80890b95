import { Button } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { RoomAgent } from "dure/client";
import type { ReactNode } from "react";
import { actorOf } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { useLanguage } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { ROOM_KEYS } from "../rooms/room-data.ts";
import { useIsAdmin, useSpeaker } from "../rooms/use-rooms.ts";
import { whenOf } from "../when.ts";

/** Whether an agent may call its model, since when not and by whom; administrators change it. */
export function AgentBrake({ agent }: { agent: RoomAgent }): ReactNode {
  const isAdmin = useIsAdmin();
  const { paused } = agent;
  if (paused === null && !isAdmin) return null;
  return (
    <div className="agent-brake toolbar" data-paused={paused !== null || undefined}>
      <p role="status">{paused !== null && <PausedWords paused={paused} />}</p>
      {isAdmin && <BrakeButton agent={agent} />}
    </div>
  );
}

function PausedWords({ paused }: { paused: NonNullable<RoomAgent["paused"]> }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.agents;
  const by = actorOf(paused.by, { text, nameOf: (id) => id });
  return (
    <>
      <strong>{words.pausedSince(whenOf(paused.at, language), by)}</strong>{" "}
      <span className="soft">{words.pausedHint}</span>
    </>
  );
}

function BrakeButton({ agent }: { agent: RoomAgent }): ReactNode {
  const { text } = useLanguage();
  const { client } = useParts();
  const queries = useQueryClient();
  const { who } = useSpeaker();
  const isPaused = agent.paused !== null;
  const brake = useMutation({
    mutationFn: () => client.rooms(who).pause(agent.id, !isPaused),
    onSettled: () => queries.invalidateQueries({ queryKey: ROOM_KEYS.agents }),
  });
  const words = isPaused ? text.agents.resume : text.agents.pause;
  return (
    <>
      <Button
        size="compact-sm"
        variant={isPaused ? "filled" : "default"}
        leftSection={isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
        loading={brake.isPending}
        aria-label={`${words}: ${agent.displayName}`}
        onClick={() => brake.mutate()}
      >
        {words}
      </Button>
      {brake.error !== null && (
        <span className="error-note small">
          <ErrorWords error={brake.error} />
        </span>
      )}
    </>
  );
}
