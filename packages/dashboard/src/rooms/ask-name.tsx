import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";

/** Longest name, characters. Source: docs/spec/collaboration §9, as the server checks it. */
const LONGEST_NAME = 60;

interface RefusedName {
  readonly name: string;
  readonly error: Error;
}

/**
 * Asks who speaks here, where people do not log in. The server says whether the name is free.
 * `refused`: the name that was chosen before, which an agent of this team has too.
 */
export function AskName({ refused }: { refused?: RefusedName }): ReactNode {
  const text = useText();
  const { client, personName } = useParts();
  const [name, setName] = useState(refused?.name ?? "");
  const plain = name.normalize("NFC").trim();

  const enter = useMutation({
    mutationFn: () => client.rooms(plain).list({ limit: 1 }),
    onSuccess: () => personName.choose(plain),
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (plain !== "") enter.mutate();
  };

  const error = enter.error ?? (name === refused?.name ? refused.error : null);

  return (
    <div className="center-page">
      <form className="login stack loose" onSubmit={submit}>
        <img src="/mark.svg" alt="" width={44} height={44} />
        <h1>{text.rooms.ask.title}</h1>
        <p className="soft">{text.rooms.ask.lead}</p>
        <TextInput
          label={text.rooms.ask.name}
          value={name}
          maxLength={LONGEST_NAME}
          onChange={(event) => {
            setName(event.currentTarget.value);
            if (enter.isError) enter.reset();
          }}
          error={error === null ? undefined : <ErrorWords error={error} />}
          autoComplete="nickname"
          autoFocus
          size="md"
        />
        <Button type="submit" size="md" loading={enter.isPending} disabled={plain === ""} fullWidth>
          {text.rooms.ask.submit}
        </Button>
      </form>
    </div>
  );
}
