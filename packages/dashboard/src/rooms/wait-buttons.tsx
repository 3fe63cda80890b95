import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { RoomMessage } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useSpeaker } from "./use-rooms.ts";

/**
 * Under the notice of an agent that waits for its model: a retry and a stop. Under the notice that
 * it could not answer: a retry that goes on from where it ended. For all who may speak here.
 */
export function WaitButtons({ message }: { message: RoomMessage }): ReactNode {
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
