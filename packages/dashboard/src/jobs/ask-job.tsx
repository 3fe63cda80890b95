import { Button, Modal, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ulid, type RoomAgent } from "dure/client";
import { useMemo, useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { JOB_KEYS } from "./use-jobs.ts";

/** Where the unfinished words of a new job are kept. */
const DRAFT = "new-job";
/** Longest topic, characters. Source: docs/spec/jobs §5. */
const LONGEST_TOPIC = 200;

/** Lets a person have one agent ask another. Needs two agents. */
export function AskJob(): ReactNode {
  const words = useText().jobs.ask;
  const agents = useAgents().data ?? [];
  const [isOpen, setOpen] = useState(false);
  if (agents.length < 2) return null;

  return (
    <>
      <Button
        variant="default"
        size="sm"
        leftSection={<IconPlus size={15} aria-hidden />}
        onClick={() => setOpen(true)}
      >
        {words.open}
      </Button>
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={words.title}
        closeButtonProps={{ "aria-label": words.close }}
      >
        <AskForm agents={agents} onAsked={() => setOpen(false)} />
      </Modal>
    </>
  );
}

interface Asked {
  readonly agent: string;
  readonly target: string;
  readonly topic: string;
  readonly message: string;
}

function AskForm({
  agents,
  onAsked,
}: {
  agents: readonly RoomAgent[];
  onAsked: () => void;
}): ReactNode {
  const words = useText().jobs.ask;
  const { drafts } = useParts();
  const [asked, setAsked] = useState<Asked>(() => ({
    ...firstTwo(agents),
    message: drafts.of(DRAFT),
  }));
  const ask = useAsk(asked, onAsked);
  const isReady = asked.message.trim() !== "" && asked.agent !== asked.target;

  const change = (part: Partial<Asked>): void => {
    setAsked((before) => ({ ...before, ...part }));
    if (part.message !== undefined) drafts.keep(DRAFT, part.message);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady && !ask.isPending) ask.mutate();
  };

  return (
    <form className="stack loose" onSubmit={submit}>
      <AgentPair agents={agents} asked={asked} onChange={change} />
      <TextInput
        label={words.topic}
        value={asked.topic}
        maxLength={LONGEST_TOPIC}
        onChange={({ currentTarget }) => change({ topic: currentTarget.value })}
      />
      <Textarea
        label={words.message}
        value={asked.message}
        onChange={({ currentTarget }) => change({ message: currentTarget.value })}
        rows={5}
        required
        data-autofocus
      />
      {ask.error !== null && <Problem error={ask.error} />}
      <Button type="submit" loading={ask.isPending} disabled={!isReady}>
        {words.send}
      </Button>
    </form>
  );
}

function AgentPair({
  agents,
  asked: { agent, target },
  onChange,
}: {
  agents: readonly RoomAgent[];
  asked: Asked;
  onChange: (part: Partial<Asked>) => void;
}): ReactNode {
  const words = useText().jobs.ask;
  return (
    <div className="halves">
      <AgentSelect
        label={words.agent}
        agents={agents}
        value={agent}
        onChange={(chosen) => onChange({ agent: chosen })}
      />
      <AgentSelect
        label={words.target}
        agents={agents}
        value={target}
        onChange={(chosen) => onChange({ target: chosen })}
        error={agent === target ? words.same : undefined}
      />
    </div>
  );
}

function AgentSelect(props: {
  label: string;
  agents: readonly RoomAgent[];
  value: string;
  onChange: (agent: string) => void;
  error?: string | undefined;
}): ReactNode {
  const { label, agents, value, onChange, error } = props;
  return (
    <NativeSelect
      label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={agents.map(({ id, displayName }) => ({ value: id, label: displayName }))}
      error={error}
    />
  );
}

/**
 * Asks, and shows the job. The key belongs to what is asked: asking the same again after a lost
 * answer gives the same job.
 */
function useAsk(asked: Asked, onAsked: () => void) {
  const { client, drafts } = useParts();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const idempotencyKey = useMemo(() => ({ of: asked, key: ulid() }), [asked]).key;

  return useMutation({
    mutationFn: () =>
      client.jobs.ask(
        {
          agent: asked.agent,
          target: asked.target,
          message: asked.message.trim(),
          topic: asked.topic.trim() || undefined,
          waitSec: 0,
        },
        { idempotencyKey },
      ),
    onSuccess: async ({ jobId }) => {
      drafts.keep(DRAFT, "");
      onAsked();
      await queries.invalidateQueries({ queryKey: JOB_KEYS.lists });
      await navigate({ to: "/jobs/$id", params: { id: jobId } });
    },
  });
}

/** The one who leads asks another. */
function firstTwo(agents: readonly RoomAgent[]): Omit<Asked, "message"> {
  const agent = (agents.find(({ leads }) => leads) ?? agents[0])?.id ?? "";
  const target = agents.find(({ id }) => id !== agent)?.id ?? "";
  return { agent, target, topic: "" };
}
