import { Button, Loader, Textarea, TextInput } from "@mantine/core";
import {
  IconAlertTriangle,
  IconArrowLeft,
  IconCircleCheck,
  IconDownload,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type PlanDraft, type PlanProblem } from "dure/client";
import { Suspense, useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useWords } from "../language.tsx";
import { lazyPart } from "../lazy-part.ts";
import { Problem } from "../problem.tsx";
import { whenOf } from "../when.ts";
import { DraftPortForm } from "./draft-port.tsx";
import { DraftTrouble } from "./draft-trouble.tsx";
import { DRAFTS_WORDS } from "words:later/drafts";
import { keepText } from "./kept-text.ts";
import { MAX_GRAPH } from "./port-order.ts";
import { PlanProblems } from "./plan-problems.tsx";
import "./plans.css";
import { saveText } from "./save-text.ts";
import { problemsByPort, useDraft, useDraftChange, useDraftAnswer } from "./use-drafts.ts";
import { useMayRun } from "./use-plans.ts";
import { Unread, usePageTitle } from "../whole-page.tsx";

const FILE = "draft.yaml";

const DraftGraph = lazyPart(
  "draft-graph",
  async () => (await import("./draft-graph.tsx")).DraftGraph,
);

/** A plan that is made ready: what it asks, its ports as a graph to change, and its start. */
export function DraftPage(): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const { draft: id } = useParams({ from: "/plans/drafts/$draft" });
  const draft = useDraft(id);
  usePageTitle(words.title);

  if (draft.data !== undefined) return <OneDraft key={id} draft={draft.data} />;
  return (
    <Unread
      error={draft.error}
      onRetry={() => void draft.refetch()}
      words={words}
      reading={words.title}
      failed={words.title}
      title={words.title}
      to="/plans"
    >
      {words.toList}
    </Unread>
  );
}

function OneDraft({ draft }: { draft: PlanDraft }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const [picked, setPicked] = useState<string>();
  const byPort = problemsByPort(draft.problems);
  const place = draft.ports.findIndex(({ id }) => id === picked && id !== "");
  const port = draft.ports[place];
  const mayRun = useMayRun();

  return (
    <div className="plans draft page">
      <DraftHead draft={draft} />
      {mayRun && <DraftQuestions draft={draft} />}
      <Open open={draft.open} />
      <Whole draft={draft} problems={byPort.get(undefined) ?? []} />
      <section className="draft-ports stack" aria-label={words.graph}>
        <header className="toolbar between bottom">
          <h2>{words.ports}</h2>
          {mayRun && <AddPort draft={draft} onAdded={setPicked} />}
        </header>
        <p className="soft small">{words.graphHint}</p>
        {draft.ports.length > 0 && draft.ports.length <= MAX_GRAPH && (
          <Suspense fallback={<Loader type="dots" role="status" aria-label={words.graph} />}>
            <DraftGraph ports={draft.ports} troubles={byPort} picked={picked} onPick={setPicked} />
          </Suspense>
        )}
        {port !== undefined && mayRun && (
          <DraftPortForm
            key={port.id}
            draft={draft}
            port={port}
            problems={byPort.get(place) ?? []}
            onLeave={() => setPicked(undefined)}
          />
        )}
      </section>
      {mayRun && <TextOf draft={draft} />}
    </div>
  );
}

function DraftHead({ draft }: { draft: PlanDraft }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const { language } = useLanguage();
  const { goal, updatedBy, updatedAt } = draft;

  return (
    <header>
      <div className="run-head toolbar">
        <Link to="/plans" className="icon-link" aria-label={words.toList}>
          <IconArrowLeft size={18} stroke={1.7} aria-hidden />
        </Link>
        <h1>{words.title}</h1>
      </div>
      {goal !== "" && <p className="verbatim">{goal}</p>}
      <p className="soft small">
        {words.changed({ who: nameIn(updatedBy), when: whenOf(updatedAt, language) })}
      </p>
    </header>
  );
}

/** A caller without a token is known by its address, which says nothing to a person. Pure. */
function nameIn(who: string): string | undefined {
  return /^[\d.]+$|:/.test(who) ? undefined : who;
}

function Open({ open }: { open: readonly string[] }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  if (open.length === 0) return null;

  return (
    <section>
      <h2>{words.open}</h2>
      <ul className="small bullets">
        {open.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
}

/** Whether it can start, and what is wrong with the plan as a whole. */
function Whole({
  draft,
  problems,
}: {
  draft: PlanDraft;
  problems: readonly PlanProblem[];
}): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const mayRun = useMayRun();
  const isWhole = draft.problemCount === 0;
  const Icon = isWhole ? IconCircleCheck : IconAlertTriangle;

  return (
    <section className="plan-found stack" aria-label={words.problemList}>
      <p role="status" className="row verdict strong" data-tone={isWhole ? "good" : "bad"}>
        <Icon size={16} aria-hidden />
        <span>{isWhole ? words.whole : words.problems({ count: draft.problemCount })}</span>
      </p>
      {problems.length > 0 && <PlanProblems problems={problems} label={words.problemList} />}
      {mayRun && <Deeds draft={draft} isWhole={isWhole} />}
    </section>
  );
}

function Deeds({ draft, isWhole }: { draft: PlanDraft; isWhole: boolean }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const navigate = useNavigate();
  const { client } = useParts();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => client.plans.drafts.remove(draft),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["plans", "drafts"] });
      await navigate({ to: "/plans" });
    },
  });
  const { text, repository } = draft;

  const look = (): void =>
    void navigate({
      to: "/plans/start/$plan",
      params: { plan: FILE },
      search: { text: keepText({ file: FILE, text }), repository: repository ?? undefined },
    });

  return (
    <>
      <div className="toolbar">
        <Button
          size="compact-sm"
          disabled={!isWhole}
          title={isWhole ? undefined : words.startHint}
          leftSection={<IconPlayerPlay size={15} />}
          onClick={look}
        >
          {words.start}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconDownload size={15} />}
          onClick={() => saveText(FILE, text)}
        >
          {words.download}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconTrash size={15} />}
          loading={remove.isPending}
          onClick={() => window.confirm(words.removeAsk) && remove.mutate()}
        >
          {words.remove}
        </Button>
      </div>
      <DraftTrouble draft={draft} error={remove.error} />
    </>
  );
}

function AddPort({
  draft,
  onAdded,
}: {
  draft: PlanDraft;
  onAdded: (id: string) => void;
}): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const [id, setId] = useState<string>();
  const add = useDraftChange(draft);
  if (id === undefined) {
    return (
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={15} />}
        onClick={() => setId("")}
      >
        {words.add}
      </Button>
    );
  }

  const isReady = /^[A-Za-z0-9][\w-]{0,59}$/.test(id);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const onSuccess = (): void => {
      setId(undefined);
      onAdded(id);
    };
    if (isReady) add.mutate({ change: { kind: "add", port: id, set: {} } }, { onSuccess });
  };

  return (
    <form className="toolbar bottom" onSubmit={submit}>
      <TextInput
        autoFocus
        size="sm"
        label={words.id}
        value={id}
        onChange={({ currentTarget: { value } }) => setId(value)}
        onKeyDown={(event) => event.key === "Escape" && setId(undefined)}
      />
      <Button type="submit" size="sm" disabled={!isReady} loading={add.isPending}>
        {words.addDo}
      </Button>
      {add.error !== null && <Problem error={add.error} />}
    </form>
  );
}

/** The whole text, for what the form does not have. */
function TextOf({ draft }: { draft: PlanDraft }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const [written, setWritten] = useState<string>();
  const save = useDraftChange(draft);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (written === undefined) return;
    save.mutate({ text: written }, { onSuccess: () => setWritten(undefined) });
  };

  return (
    <details className="more">
      <summary>{words.text}</summary>
      <form className="stack" onSubmit={submit}>
        <Textarea
          className="plan-text"
          size="sm"
          rows={16}
          resize="vertical"
          spellCheck={false}
          label={words.textLabel}
          value={written ?? draft.text}
          onChange={({ currentTarget: { value } }) => setWritten(value)}
        />
        <div className="toolbar">
          <Button
            type="submit"
            size="compact-sm"
            disabled={written === undefined}
            loading={save.isPending}
          >
            {words.save}
          </Button>
        </div>
        <DraftTrouble draft={draft} error={save.error} />
      </form>
    </details>
  );
}

// --- draft questions

/** Longest answer, characters. Source: the server's own bound. */
const MAX_ANSWER = 2_000;

/** What a draft asks, and what was answered; the answers make another draft. */
function DraftQuestions({ draft }: { draft: PlanDraft }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const [said, setSaid] = useState<Readonly<Record<string, string>>>({});
  const answer = useDraftAnswer(draft);
  const asked = draft.questions.filter((one) => one.answer === null);
  const answered = draft.questions.filter((one) => one.answer !== null);
  if (draft.questions.length === 0) return null;

  const answers = asked.flatMap(({ question }) => {
    const text = said[question]?.trim() ?? "";
    return text === "" ? [] : [{ question, answer: text }];
  });
  const isReady = answers.length > 0 || (asked.length === 0 && answered.length > 0);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) answer.mutate(answers);
  };

  return (
    <form className="card stack" onSubmit={submit} aria-label={words.questions}>
      {asked.length > 0 && <h2>{words.questions}</h2>}
      {asked.map(({ question }) => (
        <TextInput
          key={question}
          size="sm"
          maxLength={MAX_ANSWER}
          label={question}
          placeholder={words.asAssumed}
          value={said[question] ?? ""}
          onChange={({ currentTarget: { value } }) =>
            setSaid((before) => ({ ...before, [question]: value }))
          }
        />
      ))}
      {answered.length > 0 && <Answered answered={answered} />}
      <div className="toolbar">
        <Button
          type="submit"
          size="compact-sm"
          variant="default"
          disabled={!isReady}
          loading={answer.isPending}
        >
          {asked.length > 0 ? words.again : words.retell}
        </Button>
      </div>
      <p className="soft small" role="status">
        {answer.isPending && words.drafting}
      </p>
      <DraftTrouble draft={draft} error={answer.error} />
    </form>
  );
}

function Answered({ answered }: { answered: PlanDraft["questions"] }): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  return (
    <>
      <h2>{words.answered}</h2>
      <dl className="stack small">
        {answered.map(({ question, answer }) => (
          <div key={question}>
            <dt className="soft">{question}</dt>
            <dd>{answer}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
