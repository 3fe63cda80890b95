import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { IconMessage2, IconPlayerSkipForward, IconRefresh } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  MAX_NOTE,
  type PortDetail,
  type PortWords,
  type RetryRequest,
  type RunDetail,
} from "dure/client";
import { useState, type FormEvent, type KeyboardEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { MAX_TOKENS, useOrder } from "./run-head.tsx";
import { Delivery } from "./pair-channel.tsx";
import { PLAN_KEYS, useMayRun } from "./use-plans.ts";

/** Longest word to a worker, characters. Source: the server's own bound. */
const MAX_WORDS = 8_000;

/**
 * What a person may do with a port: let it try again with a hint, speak to its workers, or go on
 * without it.
 */
export function PortActions({ run, port }: { run: RunDetail; port: PortDetail }): ReactNode {
  const words = useText().plans.port;
  const mayRun = useMayRun();
  const [open, setOpen] = useState<"retry" | "say">();
  const can = decideActions(run, port);
  if (!mayRun) return null;

  const leave = (): void => setOpen(undefined);
  if (open === "retry" && can.retry) return <Retry run={run} port={port} onLeave={leave} />;
  if (open === "say" && can.say) return <Say run={run} port={port} onLeave={leave} />;
  if (!can.retry && !can.say) return null;

  return (
    <div className="run-actions toolbar">
      {can.retry && (
        <Button
          size="compact-sm"
          leftSection={<IconRefresh size={15} />}
          onClick={() => setOpen("retry")}
        >
          {words.retry}…
        </Button>
      )}
      {can.say && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconMessage2 size={15} />}
          onClick={() => setOpen("say")}
        >
          {words.say}…
        </Button>
      )}
      <Skip run={run} port={port} isOffered={can.skip} />
    </div>
  );
}

/** What can be done with a port, as it and its run stand. Pure. */
function decideActions(
  run: RunDetail,
  port: PortDetail,
): { readonly retry: boolean; readonly say: boolean; readonly skip: boolean } {
  const isCleaned = run.cleanedAt !== null;
  const isCancelled = run.status === "cancelling" || run.status === "cancelled";
  const isNext = port.status === "running" || port.status === "ready";

  return {
    retry: port.status === "failed" && !isCancelled && !isCleaned,
    say: !isCleaned && (isNext || port.status === "waiting"),
    skip: isNext && run.status !== "cancelling",
  };
}

function Skip({
  run,
  port,
  isOffered,
}: {
  run: RunDetail;
  port: PortDetail;
  isOffered: boolean;
}): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const skip = useOrder(run.id, () => client.plans.skip(run.id, port.id));

  return (
    <>
      {isOffered && (
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
    </>
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
  const [written, setWritten] = useState<WrittenMore>({ tries: "", tokens: "", minutes: "" });
  const more = readWritten(written);
  const request = retryRequest(hint.trim(), more);
  const retry = useOrder(run.id, () => client.plans.retry(run.id, port.id, request));
  const send = (): void => retry.mutate(undefined, { onSuccess: onLeave });
  const hasTokens = port.tokensMost !== null || run.tokensMost !== null;

  return (
    <Words
      onSend={send}
      onLeave={onLeave}
      isSending={retry.isPending}
      isWrong={Object.values(more).includes("wrong")}
      label={words.retryHint}
      submit={hint.trim() === "" ? words.retryPlain : words.retryDo}
      text={hint}
      onText={setHint}
      most={MAX_NOTE}
      mayBeEmpty
      below={<MoreFields written={written} onChange={setWritten} hasTokens={hasTokens} />}
    >
      {retry.error !== null && <Problem error={retry.error} />}
    </Words>
  );
}

/** What a person wrote of what a port gets beside its bounds. */
type WrittenMore = Readonly<Record<keyof typeof MOST, string>>;
type MoreTries = Readonly<Record<keyof typeof MOST, number | "wrong" | undefined>>;

const MOST = { tries: MAX_TRIES, tokens: MAX_TOKENS, minutes: MAX_MINUTES } as const;

function readWritten({ tries, tokens, minutes }: WrittenMore): MoreTries {
  return {
    tries: readMore(tries, MOST.tries),
    tokens: readMore(tokens, MOST.tokens),
    minutes: readMore(minutes, MOST.minutes),
  };
}

/** Only what was written is sent. Pure. */
function retryRequest(hint: string, { tries, tokens, minutes }: MoreTries): RetryRequest {
  return {
    hint: hint === "" ? undefined : hint,
    tries: typeof tries === "number" ? tries : undefined,
    tokens: typeof tokens === "number" ? tokens : undefined,
    timeMs: typeof minutes === "number" ? minutes * 60_000 : undefined,
  };
}

function MoreFields({
  written,
  onChange,
  hasTokens,
}: {
  written: WrittenMore;
  onChange: (written: WrittenMore) => void;
  hasTokens: boolean;
}): ReactNode {
  const words = useText().plans.port;
  const field = (name: keyof WrittenMore, label: string): ReactNode => (
    <TextInput
      size="sm"
      type="number"
      min={1}
      max={MOST[name]}
      label={label}
      placeholder={name === "tries" ? "1" : "0"}
      value={written[name]}
      error={
        readMore(written[name], MOST[name]) === "wrong" && words.moreWrong({ most: MOST[name] })
      }
      onChange={({ currentTarget }) => onChange({ ...written, [name]: currentTarget.value })}
    />
  );

  return (
    <fieldset className="port-more toolbar">
      <legend>{words.more}</legend>
      {hasTokens && field("tokens", words.moreTokens)}
      {field("minutes", words.moreMinutes)}
      {field("tries", words.moreTries)}
    </fieldset>
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
  run: RunDetail;
  port: PortDetail;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const queries = useQueryClient();
  const [to, setTo] = useState<PortWords["to"]>("implementer");
  const [said, setSaid] = useState("");
  const members = membersOf(port);

  const say = useMutation({
    mutationFn: () => client.plans.say(run.id, port.id, { to, text: said.trim() }),
    onSuccess: () => setSaid(""),
    onSettled: () => queries.invalidateQueries({ queryKey: PLAN_KEYS.port(run.id, port.id) }),
  });
  const sent = port.messages.find(({ id }) => id === say.data?.id);

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
        onChange={({ currentTarget: { value } }) =>
          setTo(members.find((one) => one === value) ?? "implementer")
        }
        data={members.map((value) => ({ value, label: words.members[value] ?? value }))}
      />
      {say.isSuccess && said === "" && (
        <p className="soft small" role="status">
          {sent === undefined ? words.said : <Delivery port={port} message={sent} />}
        </p>
      )}
      {say.error !== null && <Problem error={say.error} />}
    </Words>
  );
}

/** Who may read something on this port. Pure. */
function membersOf(port: PortDetail): readonly PortWords["to"][] {
  const hasOrchestrator = port.triesOrchestrator > 0;
  return [
    "implementer",
    ...(port.tests.length > 0 ? (["tester"] as const) : []),
    ...(hasOrchestrator ? (["orchestrator"] as const) : []),
  ];
}

interface WordsProps {
  readonly onSend: () => void;
  readonly onLeave: () => void;
  readonly isSending: boolean;
  readonly label: string;
  readonly submit: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly most: number;
  readonly mayBeEmpty?: boolean;
  readonly isWrong?: boolean;
  readonly below?: ReactNode;
  readonly children: ReactNode;
}

/** A few words and what is sent with them. Ctrl or ⌘ with Enter sends, Escape leaves. */
function Words({
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
}: WordsProps): ReactNode {
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
    <form className="card stack" onSubmit={onSubmit}>
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
      <div className="toolbar">
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
