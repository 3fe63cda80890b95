import { Button, NativeSelect, Textarea } from "@mantine/core";
import { IconMessage2, IconPlayerSkipForward, IconRefresh } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { NOTE_MOST, type PortDetail, type RunDetail } from "dure/client";
import { useState, type FormEvent, type KeyboardEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../jobs/job-list.tsx";
import { useText } from "../language.tsx";
import { useOrder } from "./run-head.tsx";
import { PLAN_KEYS, useMayRun } from "./use-plans.ts";

/** Longest word to a worker, characters. Source: the server's own bound. */
const WORDS_MOST = 8_000;

/** What a person may do with a port: let it try again with a hint, speak to its workers, or go on without it. */
export function PortActions({ run, port }: { run: RunDetail; port: PortDetail }): ReactNode {
  const text = useText();
  const words = text.plans.port;
  const mayRun = useMayRun();
  const { client } = useParts();
  const skip = useOrder(run.id, () => client.plans.skip(run.id, port.id));
  const [open, setOpen] = useState<"retry" | "say">();
  if (!mayRun) return null;
  const canRetry = port.status === "failed" && run.status !== "cancelling" && run.status !== "cancelled";
  const canSay = port.status === "running" || port.status === "ready" || port.status === "waiting";
  const leave = (): void => setOpen(undefined);
  if (open === "retry" && canRetry) return <Retry run={run.id} port={port.id} onLeave={leave} />;
  if (open === "say" && canSay) return <Say run={run.id} port={port} onLeave={leave} />;
  if (!canRetry && !canSay) return null;
  return (
    <div className="run-actions">
      {canRetry && (
        <Button size="compact-sm" leftSection={<IconRefresh size={15} />} onClick={() => setOpen("retry")}>
          {words.retry}…
        </Button>
      )}
      {canSay && (
        <Button size="compact-sm" variant="default" leftSection={<IconMessage2 size={15} />} onClick={() => setOpen("say")}>
          {words.say}…
        </Button>
      )}
      {(port.status === "running" || port.status === "ready") && run.status !== "cancelling" && (
        <Button size="compact-sm" variant="default" leftSection={<IconPlayerSkipForward size={15} />} loading={skip.isPending} onClick={() => window.confirm(words.skipAsk) && skip.mutate()}>
          {words.skip}
        </Button>
      )}
      {skip.error !== null && <Problem error={skip.error} />}
    </div>
  );
}

function Retry({ run, port, onLeave }: { run: string; port: string; onLeave: () => void }): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const [hint, setHint] = useState("");
  const retry = useOrder(run, () => client.plans.retry(run, port, hint.trim() === "" ? {} : { hint: hint.trim() }));
  const send = (): void => retry.mutate(undefined, { onSuccess: onLeave });
  return (
    <Words onSend={send} onLeave={onLeave} isSending={retry.isPending} label={words.retryHint} submit={words.retryDo} text={hint} onText={setHint} most={NOTE_MOST} mayBeEmpty>
      {retry.error !== null && <Problem error={retry.error} />}
    </Words>
  );
}

function Say({ run, port, onLeave }: { run: string; port: PortDetail; onLeave: () => void }): ReactNode {
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
    <Words onSend={() => say.mutate()} onLeave={onLeave} isSending={say.isPending} label={words.sayText} submit={words.sayDo} text={said} onText={setSaid} most={WORDS_MOST}>
      <NativeSelect
        size="sm"
        label={words.sayTo}
        value={to}
        onChange={(event) => setTo(event.currentTarget.value === "tester" ? "tester" : "implementer")}
        data={[{ value: "implementer", label: words.members["implementer"]! }, ...(port.tests.length > 0 ? [{ value: "tester", label: words.members["tester"]! }] : [])]}
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
function Words(props: { onSend: () => void; onLeave: () => void; isSending: boolean; label: string; submit: string; text: string; onText: (text: string) => void; most: number; mayBeEmpty?: boolean; children: ReactNode }): ReactNode {
  const { onSend, onLeave, isSending, label, submit, text, onText, most, mayBeEmpty = false, children } = props;
  const words = useText().plans.port;
  const isReady = !isSending && (mayBeEmpty || text.trim() !== "");
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
      <Textarea autoFocus autosize minRows={2} maxRows={8} size="sm" label={label} maxLength={most} value={text} onChange={(event) => onText(event.currentTarget.value)} onKeyDown={onKeyDown} />
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
