import { Button, FileButton, Textarea, TextInput } from "@mantine/core";
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconDownload,
  IconFileUpload,
  IconListCheck,
  IconPlayerPlay,
  IconSparkles,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { PlanFile, PlanProblem } from "dure/client";
import { useRef, useState, type FormEvent, type ReactNode, type RefObject } from "react";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { Prose } from "../prose.tsx";
import { keepText } from "./kept-text.ts";
import { PlanProblems } from "./plan-problems.tsx";
import { saveText } from "./save-text.ts";
import { rangeOfLine } from "./text-lines.ts";
import { useMayRun } from "./use-plans.ts";

/** What was found in a text, and the text that it was found in. */
interface BenchPlan extends Pick<PlanFile, "file" | "problems" | "problemCount"> {
  readonly text: string;
}

/**
 * A plan that is no file of the team yet: proposed by a model, opened or written here, checked line
 * by line, and taken along. Nothing is stored.
 */
export function PlanBench({ onLeave }: { onLeave: () => void }): ReactNode {
  const words = useText().plans.bench;
  const mayRun = useMayRun();
  const [file, setFile] = useState("plan.yaml");
  const [text, setText] = useState("");
  const [checked, setChecked] = useState<BenchPlan>();
  const area = useRef<HTMLTextAreaElement>(null);
  const check = useCheck(setChecked);
  const isReady = file.trim() !== "" && text.trim() !== "";

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) check.mutate({ file: file.trim(), text });
  };

  const open = async (chosen: File | null): Promise<void> => {
    if (chosen === null) return;

    const read = await chosen.text();
    setFile(chosen.name);
    setText(read);
    check.mutate({ file: chosen.name, text: read });
  };

  const goTo = ({ line = 1 }: PlanProblem): void => showLine(area.current, text, line);

  return (
    <div className="card stack loose" role="group" aria-label={words.title}>
      <h3>{words.title}</h3>
      <p className="soft small">
        <Prose text={words.lead} />
      </p>
      {mayRun && <PlanDraft />}
      <form className="stack" onSubmit={submit}>
        <FileFields file={file} onFile={setFile} onOpen={open} />
        <PlanText area={area} text={text} onText={setText} />
        <div className="toolbar">
          <CheckButton isReady={isReady} isChecking={check.isPending} />
          <SaveButton file={file} text={text} />
          <Button size="compact-sm" variant="default" onClick={onLeave}>
            {words.close}
          </Button>
        </div>
        {check.error !== null && <Problem error={check.error} />}
        {checked !== undefined && check.error === null && (
          <Found
            checked={checked}
            isStale={checked.text !== text || checked.file !== file.trim()}
            mayRun={mayRun}
            onGo={goTo}
          />
        )}
      </form>
    </div>
  );
}

function CheckButton({
  isReady,
  isChecking,
}: {
  isReady: boolean;
  isChecking: boolean;
}): ReactNode {
  const words = useText().plans.bench;
  return (
    <Button
      type="submit"
      size="compact-sm"
      disabled={!isReady}
      loading={isChecking}
      leftSection={<IconListCheck size={15} />}
    >
      {words.check}
    </Button>
  );
}

function useCheck(onChecked: (checked: BenchPlan) => void) {
  const { client } = useParts();
  return useMutation({
    mutationFn: async (plan: { file: string; text: string }) => ({
      ...plan,
      ...(await client.plans.check(plan)),
    }),
    onSuccess: onChecked,
  });
}

function PlanText({
  area,
  text,
  onText,
}: {
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  onText: (text: string) => void;
}): ReactNode {
  const words = useText().plans.bench;
  return (
    <Textarea
      ref={area}
      className="plan-text"
      size="sm"
      rows={12}
      resize="vertical"
      spellCheck={false}
      label={words.text}
      placeholder={"plan: login\nbase: main\nports:\n  - id: domain"}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** Puts a line into sight and selects it. */
function showLine(area: HTMLTextAreaElement | null, text: string, line: number): void {
  if (area === null) return;

  area.focus();
  area.setSelectionRange(...rangeOfLine(text, line));
  // A selection alone is not scrolled to.
  const lineHeight = Number.parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = Math.max(0, (line - 4) * lineHeight);
}

function FileFields({
  file,
  onFile,
  onOpen,
}: {
  file: string;
  onFile: (file: string) => void;
  onOpen: (chosen: File | null) => Promise<void>;
}): ReactNode {
  const words = useText().plans.bench;
  return (
    <div className="toolbar bottom">
      <TextInput
        size="sm"
        label={words.file}
        description={words.fileHint}
        maxLength={300}
        value={file}
        onChange={(event) => onFile(event.currentTarget.value)}
      />
      <FileButton accept=".yaml,.yml,.json,.md" onChange={(chosen) => void onOpen(chosen)}>
        {(props) => (
          <Button {...props} size="sm" variant="default" leftSection={<IconFileUpload size={15} />}>
            {words.open}
          </Button>
        )}
      </FileButton>
    </div>
  );
}

function SaveButton({ file, text }: { file: string; text: string }): ReactNode {
  const words = useText().plans.bench;
  return (
    <Button
      size="compact-sm"
      variant="default"
      disabled={text === ""}
      leftSection={<IconDownload size={15} />}
      onClick={() => saveText(file.trim() || "plan.yaml", text)}
    >
      {words.save}
    </Button>
  );
}

function Found({
  checked,
  isStale,
  mayRun,
  onGo,
}: {
  checked: BenchPlan;
  isStale: boolean;
  mayRun: boolean;
  onGo: (problem: PlanProblem) => void;
}): ReactNode {
  const text = useText();
  const words = text.plans.bench;
  const navigate = useNavigate();
  const { file, problems, problemCount } = checked;

  const lookAtIt = (): void =>
    void navigate({
      to: "/plans/start/$plan",
      params: { plan: file },
      search: { text: keepText(checked) },
    });

  return (
    <div className="plan-found stack">
      <p
        role="status"
        className="row verdict strong"
        data-tone={isStale ? undefined : problems.length === 0 ? "good" : "bad"}
      >
        {problems.length === 0 ? (
          <IconCircleCheck size={16} aria-hidden />
        ) : (
          <IconAlertTriangle size={16} aria-hidden />
        )}
        <span>
          {isStale
            ? words.stale
            : problems.length === 0
              ? words.whole
              : text.plans.problems({ count: problemCount })}
        </span>
      </p>
      {problems.length === 0 ? (
        !isStale && <Whole mayRun={mayRun} onLook={lookAtIt} />
      ) : (
        <PlanProblems
          problems={problems}
          label={text.plans.problemList({ plan: file })}
          onGo={onGo}
        />
      )}
    </div>
  );
}

/** What can be done with a plan without problems. */
function Whole({ mayRun, onLook }: { mayRun: boolean; onLook: () => void }): ReactNode {
  const words = useText().plans.bench;
  return (
    <>
      {mayRun && (
        <Button
          size="compact-sm"
          variant="light"
          leftSection={<IconPlayerPlay size={15} />}
          onClick={onLook}
        >
          {words.begin}
        </Button>
      )}
      <p className="soft small">
        <Prose text={words.next} />
      </p>
    </>
  );
}

// --- plan draft

/** Longest goal of a draft, characters. Source: the server's own bound. */
const MAX_GOAL = 8_000;

/** Lets the team's model propose a plan, which has a page of its own then. */
function PlanDraft(): ReactNode {
  const words = useText().plans.bench;
  const { client } = useParts();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [goal, setGoal] = useState("");
  const [repository, setRepository] = useState("");

  const draft = useMutation({
    mutationFn: () =>
      client.plans.drafts.make({
        goal: goal.trim(),
        repository: repository.trim() === "" ? undefined : repository.trim(),
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ["plans", "drafts"] });
      await navigate({ to: "/plans/drafts/$draft", params: { draft: id } });
    },
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (goal.trim() !== "") draft.mutate();
  };

  return (
    <details className="more">
      <summary>{words.draftTitle}</summary>
      <form className="stack" onSubmit={submit}>
        <GoalField goal={goal} onGoal={setGoal} />
        <TextInput
          size="sm"
          maxLength={1_000}
          label={words.repository}
          description={words.repositoryHint}
          value={repository}
          onChange={(event) => setRepository(event.currentTarget.value)}
        />
        <div className="toolbar">
          <Button
            type="submit"
            size="compact-sm"
            disabled={goal.trim() === ""}
            loading={draft.isPending}
            leftSection={<IconSparkles size={15} />}
          >
            {words.draft}
          </Button>
        </div>
        {draft.isPending && (
          <p className="soft small" role="status">
            {words.drafting}
          </p>
        )}
        {draft.error !== null && <Problem error={draft.error} />}
      </form>
    </details>
  );
}

function GoalField({ goal, onGoal }: { goal: string; onGoal: (goal: string) => void }): ReactNode {
  const words = useText().plans.bench;
  return (
    <Textarea
      size="sm"
      autosize
      minRows={2}
      maxRows={8}
      maxLength={MAX_GOAL}
      label={words.goal}
      description={words.goalHint}
      value={goal}
      onChange={(event) => onGoal(event.currentTarget.value)}
    />
  );
}
