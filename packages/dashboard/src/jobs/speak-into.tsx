import { ActionIcon } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { JobDetail } from "dure/client";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { fitHeight, isComposing } from "../chat/composer.tsx";
import { useText } from "../language.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { Problem } from "../problem.tsx";
import { JOB_KEYS } from "./use-jobs.ts";

/** Where a person speaks into a running exchange. What could not be sent stays in the field. */
export function SpeakInto({ job }: { job: JobDetail }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const { who } = useSpeaker();
  const queries = useQueryClient();
  const [words, setWords] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);

  const speak = useMutation({
    mutationFn: (said: string) => client.jobs.speak(job.jobId, said, { asPerson: who }),
    onSuccess: () => {
      setWords("");
      field.current!.style.height = "";
    },
    onSettled: () => queries.invalidateQueries({ queryKey: JOB_KEYS.one(job.jobId) }),
  });

  const submit = (): void => {
    if (words.trim() !== "" && !speak.isPending) speak.mutate(words.trim());
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    submit();
  };

  return (
    <div className="composer job-composer">
      {speak.error !== null && <Problem error={speak.error} />}
      <div className="composer-box row bottom">
        <textarea
          ref={field}
          rows={1}
          value={words}
          onChange={(event) => {
            setWords(event.currentTarget.value);
            fitHeight(event.currentTarget);
          }}
          onKeyDown={onKeyDown}
          placeholder={text.jobs.speak}
          aria-label={text.jobs.speak}
          aria-describedby="speak-hint"
          enterKeyHint="send"
        />
        <ActionIcon
          size={36}
          radius="xl"
          aria-label={text.jobs.say}
          disabled={words.trim() === ""}
          loading={speak.isPending}
          onClick={submit}
        >
          <IconArrowUp size={19} />
        </ActionIcon>
      </div>
      <p id="speak-hint" className="composer-hint meta">
        {text.jobs.speakHint}
      </p>
    </div>
  );
}
