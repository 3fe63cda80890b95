import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { IconMessage2, IconPlayerSkipForward, IconRefresh } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { MAX_NOTE, type PortDetail, type RetryRequest, type RunDetail } from "dure/client";
import { useState, type FormEvent, type KeyboardEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { MAX_TOKENS, useOrder } from "./run-head.tsx";
import { PLAN_KEYS, useMayRun } from "./use-plans.ts";

/** Longest word to a worker, characters. Source: the server's own bound. */
const MAX_WORDS = 8_000;

/**
 * What a person may do with a port: let it try again with a hint, speak to its workers, or go on
 * without it.
 */
export function PortActions({ run, port }: { run: RunDetail; port: PortDetail }): ReactNode {
  const text = useText();
  const words = text.plans.port;
  const mayRun = useMayRun();
  const { client } = useParts();
  const skip = useOrder(run.id, () => client.plans.skip(run.id, port.id));
  const [open, setOpen] = useState<"retry" | "say">();
  if (!mayRun) return null;
  const canRetry =
    port.status === "failed" &&
    run.status !== "cancelling" &&
    run.status !== "cancelled" &&
    run.cleanedAt === null;
  const canSay =
    run.cleanedAt === null &&
    (port.status === "running" || port.status === "ready" || port.status === "waiting");
  const leave = (): void => setOpen(undefined);
  if (open === "retry" && canRetry) return <Retry run={run} port={port} onLeave={leave} />;
  if (open === "say" && canSay) return <Say run={run.id} port={port} onLeave={leave} />;
  if (!canRetry && !canSay) return null;
  return (
    <div className="run-actions">
      {canRetry && (
        <Button
          size="compact-sm"
          leftSection={<IconRefresh size={15} />}
          onClick={() => setOpen("retry")}
        >
          {words.retry}…
        </Button>
      )}
      {canSay && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconMessage2 size={15} />}
          onClick={() => setOpen("say")}
        >
          {words.say}…
        </Button>
      )}
      {(port.status === "running" || port.status === "ready") && run.status !== "cancelling" && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerSkipForward size={15} />}
          loading={skip.isPending}
          onClick={() => window.confirm(words.skipAsk) && skip.mutate()}
        >
          {words.skip}
        </Button>
      )}
      {skip.error !== null && <Problem error={skip.error} />}
    </div>
  );
}

/**
 * Most minutes and tries that are added at once. Source: the server's own bounds (a week, and 20).
 */
const MAX_MINUTES = 10_080;
const MAX_TRIES = 20;

/** Another try: what to do differently, and more of what had run out. */
function Retry({
  run,
  port,
  onLeave,
}: {
  run: RunDetail;
  port: PortDetail;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const [hint, setHint] = useState("");
  const [more, setMore] = useState({ tries: "", tokens: "", minutes: "" });
  const tries = readMore(more.tries, MAX_TRIES);
  const tokens = readMore(more.tokens, MAX_TOKENS);
  const minutes = readMore(more.minutes, MAX_MINUTES);
  const isWrong = [tries, tokens, minutes].includes("wrong");
  const request: RetryRequest = {
    ...(hint.trim() !== "" && { hint: hint.trim() }),
    ...(typeof tries === "number" && { tries }),
    ...(typeof tokens === "number" && { tokens }),
    ...(typeof minutes === "number" && { timeMs: minutes * 60_000 }),
  };
  const retry = useOrder(run.id, () => client.plans.retry(run.id, port.id, request));
  const send = (): void => retry.mutate(undefined, { onSuccess: onLeave });
  const field = (
    name: keyof typeof more,
    label: string,
    most: number,
    read: ReturnType<typeof readMore>,
    placeholder = "0",
  ): ReactNode => (
    <TextInput
      size="sm"
      type="number"
      min={1}
      max={most}
      label={label}
      placeholder={placeholder}
      value={more[name]}
      error={read === "wrong" && words.moreWrong(most)}
      onChange={({ currentTarget: { value } }) =>
        setMore((before) => ({ ...before, [name]: value }))
      }
    />
  );
  const fields = (
    <fieldset className="port-more">
      <legend>{words.more}</legend>
      {(port.tokensMost !== null || run.tokensMost !== null) &&
        field("tokens", words.moreTokens, MAX_TOKENS, tokens)}
      {field("minutes", words.moreMinutes, MAX_MINUTES, minutes)}
      {field("tries", words.moreTries, MAX_TRIES, tries, "1")}
    </fieldset>
  );
  return (
    <Words
      onSend={send}
      onLeave={onLeave}
      isSending={retry.isPending}
      isWrong={isWrong}
      label={words.retryHint}
      submit={hint.trim() === "" ? words.retryPlain : words.retryDo}
      text={hint}
      onText={setHint}
      most={MAX_NOTE}
      mayBeEmpty
      below={fields}
    >
      {retry.error !== null && <Problem error={retry.error} />}
    </Words>
  );
}

/** A whole number from 1 to `most`; undefined when nothing was written. Pure. */
function readMore(written: string, most: number): number | "wrong" | undefined {
  if (written.trim() === "") return undefined;
  const count = Number(written);
  return Number.isInteger(count) && count >= 1 && count <= most ? count : "wrong";
}

function Say({
  run,
  port,
  onLeave,
}: {
  run: string;
  port: PortDetail;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const queries = useQueryClient();
  const [to, setTo] = useState<"implementer" | "tester">("implementer");
  const [said, setSaid] = useState("");
  const say = useMutation({
    mutationFn: () => client.plans.say(run, port.id, { to, text: said.trim() }),
    onSuccess: () => setSaid(""),
    onSettled: () => queries.invalidateQueries({ queryKey: PLAN_KEYS.port(run, port.id) }),
  });
  return (
    <Words
      onSend={() => say.mutate()}
      onLeave={onLeave}
      isSending={say.isPending}
      label={words.sayText}
      submit={words.sayDo}
      text={said}
      onText={setSaid}
      most={MAX_WORDS}
    >
      <NativeSelect
        size="sm"
        label={words.sayTo}
        value={to}
        onChange={(event) =>
          setTo(event.currentTarget.value === "tester" ? "tester" : "implementer")
        }
        data={[
          { value: "implementer", label: words.members["implementer"]! },
          ...(port.tests.length > 0 ? [{ value: "tester", label: words.members["tester"]! }] : []),
        ]}
      />
      {say.isSuccess && said === "" && (
        <p className="soft small" role="status">
          {words.said}
        </p>
      )}
      {say.error !== null && <Problem error={say.error} />}
    </Words>
  );
}

/** A few words and what is sent with them. Ctrl or ⌘ with Enter sends, Escape leaves. */
function Words(props: {
  onSend: () => void;
  onLeave: () => void;
  isSending: boolean;
  label: string;
  submit: string;
  text: string;
  onText: (text: string) => void;
  most: number;
  mayBeEmpty?: boolean;
  isWrong?: boolean;
  below?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const {
    onSend,
    onLeave,
    isSending,
    label,
    submit,
    text,
    onText,
    most,
    mayBeEmpty = false,
    isWrong = false,
    below,
    children,
  } = props;
  const words = useText().plans.port;
  const isReady = !isSending && !isWrong && (mayBeEmpty || text.trim() !== "");
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) onSend();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onLeave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isReady) onSend();
  };
  return (
    <form className="port-words" onSubmit={onSubmit}>
      {children}
      <Textarea
        autoFocus
        autosize
        minRows={2}
        maxRows={8}
        size="sm"
        label={label}
        maxLength={most}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {below}
      <div className="run-merge-buttons">
        <Button type="submit" size="compact-sm" loading={isSending} disabled={!isReady}>
          {submit}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.back}
        </Button>
      </div>
    </form>
  );
}
