import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { RoomMessage } from "dure/client";
import { useRef, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { actionLabel } from "../escalations/words.ts";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useSpeaker } from "./use-rooms.ts";

/**
 * Under a question that is for one person: their yes and no. Others read that it is not for them. When
 * it is answered the message says so, and the buttons go.
 */
export function QuestionButtons({ message }: { message: RoomMessage }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const { who, name } = useSpeaker();
  const group = useRef<HTMLDivElement>(null);
  const answer = useMutation({
    mutationFn: (value: string) => client.rooms(who).answer(message.place, value),
    // The focused button goes away; the message that says the answer is read next.
    onSuccess: () => group.current?.closest("li")?.focus(),
  });
  const buttons = (message.buttons ?? []).filter((button) => button.for !== undefined);

  if (buttons.length === 0) return null;
  if (buttons[0]?.for !== name) {
    return <p className="soft small">{text.rooms.question.notYours}</p>;
  }
  return (
    <>
      <div className="toolbar" role="group" aria-label={text.rooms.question.answers} ref={group}>
        {buttons.map((button, index) => (
          <Button
            key={button.value}
            size="compact-md"
            variant={index === 0 ? "filled" : "default"}
            disabled={answer.isPending || answer.isSuccess}
            loading={answer.isPending && answer.variables === button.value}
            onClick={() => answer.mutate(button.value)}
          >
            {actionLabel(button, text)}
          </Button>
        ))}
      </div>
      {answer.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={answer.error} />
        </p>
      )}
    </>
  );
}
