import "@mantine/core/styles/PasswordInput.css";
import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";

/**
 * Asks for the token once, unless a link brought something that logs in. The server answers with a
 * cookie that scripts cannot read.
 */
export function Login(): ReactNode {
  const text = useText();
  const { client, loginLink } = useParts();
  const queries = useQueryClient();
  const [token, setToken] = useState("");
  const onSuccess = (): Promise<void> => queries.resetQueries();
  const byToken = useMutation({ mutationFn: () => client.login(token.trim()), onSuccess });

  const { mutate: open, ...byLink } = useMutation({
    mutationFn: (once: string) => client.loginOnce(once),
    onSuccess,
  });

  useEffect(() => {
    const once = loginLink.take();
    if (once !== undefined) open(once);
  }, [loginLink, open]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") byToken.mutate();
  };

  const error = byToken.error ?? byLink.error;

  return (
    <main className="center-page">
      <form className="login stack loose" onSubmit={submit}>
        <img src="/mark.svg" alt="" width={44} height={44} />
        <h1>{text.shell.login.title}</h1>
        <p className="soft">{text.shell.login.lead}</p>
        <PasswordInput
          label={text.shell.login.token}
          visibilityToggleButtonProps={{ "aria-label": text.shell.login.showToken }}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          error={error === null ? undefined : <ErrorWords error={error} />}
          autoComplete="current-password"
          autoFocus
          size="md"
        />
        <Button
          type="submit"
          size="md"
          loading={byToken.isPending || byLink.isPending}
          disabled={token.trim() === ""}
          fullWidth
        >
          {text.shell.login.submit}
        </Button>
        <p className="soft small">
          <Prose text={text.shell.login.hint} />
        </p>
      </form>
    </main>
  );
}
