import { useWords } from "../language.tsx";
import "@mantine/core/styles/Checkbox.css";
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import type { DraftPort, PlanDraft, PlanProblem, PortChange } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { DraftTrouble } from "./draft-trouble.tsx";
import { DRAFTS_WORDS } from "words:later/drafts";
import { PlanProblems } from "./plan-problems.tsx";
import { useDraftChange } from "./use-drafts.ts";

const LINES = ["owns", "tests", "reads"] as const;
const AGENTS = ["claude", "codex", "opencode", "gemini", "qwen"];

interface PortProps {
  readonly draft: PlanDraft;
  readonly port: DraftPort;
  readonly problems: readonly PlanProblem[];
  readonly onLeave: () => void;
}

/**
 * One port of a draft, to be changed. Only what was written here is sent, so what another person has
 * changed of the same port stays.
 */
export function DraftPortForm({ draft, port, problems, onLeave }: PortProps): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const [set, setSet] = useState<PortChange>({});
  const save = useDraftChange(draft);
  const drop = useDraftChange(draft);
  const write = (change: PortChange): void => setSet((before) => ({ ...before, ...change }));

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const change = { kind: "set" as const, port: port.id, set: trimmed(set) };
    save.mutate({ change }, { onSuccess: () => setSet({}) });
  };
  const takeOut = (): void => {
    if (!window.confirm(words.dropAsk({ id: port.id }))) return;
    drop.mutate({ change: { kind: "delete", port: port.id } }, { onSuccess: onLeave });
  };
  const isChanged = Object.keys(set).length > 0;

  return (
    <form
      className="draft-port card stack"
      onSubmit={submit}
      aria-label={words.port({ id: port.id })}
    >
      <h2>{words.port({ id: port.id })}</h2>
      {problems.length > 0 && <PlanProblems problems={problems} label={words.problemList} />}
      <Words port={port} set={set} onWrite={write} />
      <Needs draft={draft} port={port} set={set} onWrite={write} />
      <WorkerChoice port={port} set={set} onWrite={write} />
      <div className="toolbar">
        <Button type="submit" size="compact-sm" disabled={!isChanged} loading={save.isPending}>
          {words.save}
        </Button>
        <Button size="compact-sm" variant="default" loading={drop.isPending} onClick={takeOut}>
          {words.drop}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.close}
        </Button>
      </div>
      <p className="soft small" role="status">
        {save.isSuccess && !isChanged && words.saved}
      </p>
      <DraftTrouble draft={draft} error={save.error ?? drop.error} />
    </form>
  );
}

interface FieldProps {
  readonly port: DraftPort;
  readonly set: PortChange;
  readonly onWrite: (change: PortChange) => void;
}

function Words({ port, set, onWrite }: FieldProps): ReactNode {
  const { fields } = useWords(DRAFTS_WORDS);
  return (
    <>
      <TextInput
        size="sm"
        label={fields.title}
        maxLength={200}
        value={set.title ?? port.title}
        onChange={({ currentTarget: { value } }) => onWrite({ title: value })}
      />
      <Textarea
        size="sm"
        autosize
        minRows={2}
        maxRows={12}
        label={fields.goal}
        maxLength={8_000}
        value={set.goal ?? port.goal}
        onChange={({ currentTarget: { value } }) => onWrite({ goal: value })}
      />
      {LINES.map((name) => (
        <Textarea
          key={name}
          size="sm"
          autosize
          minRows={1}
          maxRows={8}
          spellCheck={false}
          classNames={{ input: "mono" }}
          label={fields[name]}
          value={(set[name] ?? port[name]).join("\n")}
          onChange={({ currentTarget: { value } }) => onWrite({ [name]: value.split("\n") })}
        />
      ))}
      <TextInput
        size="sm"
        classNames={{ input: "mono" }}
        label={fields.acceptance}
        maxLength={8_000}
        value={set.acceptance ?? port.acceptance}
        onChange={({ currentTarget: { value } }) => onWrite({ acceptance: value })}
      />
    </>
  );
}

function Needs({ draft, port, set, onWrite }: FieldProps & { draft: PlanDraft }): ReactNode {
  const { fields } = useWords(DRAFTS_WORDS);
  const needs = set.dependsOn ?? port.dependsOn;
  const known = draft.ports.filter(({ id }) => id !== "" && id !== port.id);
  const ids = new Set(known.map(({ id }) => id));
  // What does not exist can be taken out.
  const unknown = port.dependsOn.filter((id) => !ids.has(id)).map((id) => ({ id, title: "" }));
  const others = [...known, ...unknown];
  if (others.length === 0) return null;

  return (
    <Checkbox.Group
      size="sm"
      label={fields.needs}
      value={[...needs]}
      onChange={(dependsOn) => onWrite({ dependsOn })}
    >
      <div className="toolbar">
        {others.map(({ id, title }) => (
          <Checkbox key={id} size="xs" value={id} label={title === "" ? id : title} />
        ))}
      </div>
    </Checkbox.Group>
  );
}

function WorkerChoice({ port, set, onWrite }: FieldProps): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const own = port.worker !== null && !AGENTS.includes(port.worker) ? [port.worker] : [];
  const worker = set.worker === undefined ? port.worker : set.worker;

  return (
    <NativeSelect
      size="sm"
      label={words.fields.worker}
      description={words.workerHint({ role: port.role === "" ? port.id : port.role })}
      value={worker ?? ""}
      onChange={({ currentTarget: { value } }) => onWrite({ worker: value === "" ? null : value })}
      data={[
        { value: "", label: words.usual },
        ...own.map((value) => ({ value, label: value, disabled: true })),
        ...AGENTS,
      ]}
    />
  );
}

/** Empty lines are no paths. Pure. */
function trimmed({ owns, tests, reads, ...set }: PortChange): PortChange {
  const paths = (lines: readonly string[] | undefined): string[] | undefined =>
    lines?.map((line) => line.trim()).filter((line) => line !== "");
  return { ...set, owns: paths(owns), tests: paths(tests), reads: paths(reads) };
}
