import { ActionIcon, Button, Popover } from "@mantine/core";
import { IconHandStop } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Room, Stopped } from "dure/client";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import type { Speaker } from "./room-data.ts";

/** Ends what runs in a place, after a question: answers, requests, jobs. */
export function StopButton({ who, place }: { who: Speaker; place: Room }): ReactNode {
  const words = useText().rooms.stop;
  const { client } = useParts();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const stop = useMutation({
    mutationFn: () => {
      const rooms = client.rooms(who);
      return place.kind === "thread" ? rooms.stopThread(place.id) : rooms.stopRoom(place.id);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["rooms", who ?? ""] }),
  });
  const change = (open: boolean): void => {
    if (open) stop.reset();
    setOpen(open);
  };
  if (place.state === "closed") return null;
  return (
    <Popover opened={isOpen} onChange={change} position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={words.open}
          title={words.open}
          onClick={() => change(!isOpen)}
        >
          <IconHandStop size={19} stroke={1.7} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className="room-stop stack" aria-label={words.open}>
        <p>
          <strong>{words.question[place.kind]}</strong>
        </p>
        <p className="soft small">{words.hint}</p>
        {stop.error !== null && (
          <p className="error-note small">
            <ErrorWords error={stop.error} />
          </p>
        )}
        {stop.data !== undefined && (
          <p className="small" role="status">
            {endedWords(stop.data, words)}
          </p>
        )}
        <StopRow
          isOver={stop.data !== undefined}
          isPending={stop.isPending}
          onClose={() => change(false)}
          onStop={() => stop.mutate()}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function StopRow(row: {
  isOver: boolean;
  isPending: boolean;
  onClose: () => void;
  onStop: () => void;
}): ReactNode {
  const words = useText().rooms.stop;
  return (
    <div className="room-stop-row row top">
      <Button size="compact-sm" variant="default" onClick={row.onClose}>
        {words.close}
      </Button>
      {!row.isOver && (
        <Button size="compact-sm" color="red" loading={row.isPending} onClick={row.onStop}>
          {words.confirm}
        </Button>
      )}
    </div>
  );
}

type StopWords = ReturnType<typeof useText>["rooms"]["stop"];

function endedWords({ answers, requests, jobs }: Stopped, words: StopWords): string {
  const ended = [
    answers > 0 && words.answers(answers),
    requests > 0 && words.requests(requests),
    jobs > 0 && words.jobs(jobs),
  ].filter((part) => part !== false);
  return ended.length === 0 ? words.nothing : words.ended(ended.join(", "));
}
