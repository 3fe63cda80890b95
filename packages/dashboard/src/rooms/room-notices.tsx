import { useWords } from "../language.tsx";
import { Button, NativeSelect } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { NotificationChoices, Room, ToldChoice } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { ErrorWords } from "../problem.tsx";
import { NoticeButton } from "../shell/notice-button.tsx";
import { NOTICES_WORDS } from "words:later/notices";
import type { PageSpeaker } from "./room-data.ts";

const CHOICES = ["all", "mentions-and-answers", "nothing"] as const satisfies readonly ToldChoice[];

/** What a person is told outside of the page, and how it is changed. */
function useNotifications(who: PageSpeaker) {
  const { client } = useParts();
  const queries = useQueryClient();
  const own = client.notifications(who);
  const queryKey = ["notifications", who ?? ""];
  const now = useQuery({ queryKey, queryFn: ({ signal }) => own.get({ signal }) });
  const change = useMutation({
    mutationFn: (to: () => Promise<NotificationChoices>) => to(),
    onSuccess: (changed) => queries.setQueryData(queryKey, changed),
  });

  return { own, now: now.data, change };
}

/** Below the rooms: whether this browser is told, and of what. */
export function RoomNotices({ who }: { who: PageSpeaker }): ReactNode {
  return (
    <NoticeButton>
      <ToldOf who={who} />
    </NoticeButton>
  );
}

function ToldOf({ who }: { who: PageSpeaker }): ReactNode {
  const words = useWords(NOTICES_WORDS);
  const { own, now, change } = useNotifications(who);
  if (now === undefined) return null;

  return (
    <>
      <NativeSelect
        size="xs"
        label={words.choice}
        value={now.told}
        data={CHOICES.map((value) => ({ value, label: words.told[value] }))}
        onChange={({ currentTarget }) => {
          const told = CHOICES.find((one) => one === currentTarget.value) ?? "all";
          change.mutate(() => own.choose(told));
        }}
      />
      <Refused error={change.error} />
    </>
  );
}

/** In the panel of a room; a thread is muted with its channel, or alone. */
export function MuteRoom({ who, place }: { who: PageSpeaker; place: Room }): ReactNode {
  const words = useWords(NOTICES_WORDS);
  const { own, now, change } = useNotifications(who);
  if (now === undefined || place.adapter !== "web") return null;
  const isMuted = now.muted.includes(place.id);

  return (
    <section>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        fw={400}
        ms={-8}
        loading={change.isPending}
        onClick={() => change.mutate(() => own.mute(place.id, { isMuted: !isMuted }))}
      >
        {isMuted ? words.unmute : words.mute}
      </Button>
      <Refused error={change.error} />
    </section>
  );
}

function Refused({ error }: { error: Error | null }): ReactNode {
  if (error === null) return null;
  return (
    <p className="error-note small">
      <ErrorWords error={error} />
    </p>
  );
}
