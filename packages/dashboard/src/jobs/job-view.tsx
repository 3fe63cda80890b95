import { Button, ActionIcon } from "@mantine/core";
import {
  IconArrowLeft,
  IconCornerDownRight,
  IconCornerLeftUp,
  IconListTree,
  IconPlayerStop,
  IconRefresh,
  IconRotate,
  IconTimeline,
  IconArrowUp,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isJobOver, type Job, type JobDetail } from "dure/client";
import { type ReactNode, useRef, useState, type KeyboardEvent } from "react";
import { AgentLink } from "../agents/agent-link.tsx";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { momentOf, spanOf, whenOf } from "../when.ts";
import { excerptOf, spentOf } from "./exchange.ts";
import { readJobFilters } from "./job-filters.ts";
import { Problem, ToldError } from "../problem.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { Transcript } from "./transcript.tsx";
import { JOB_KEYS, useJob, useRelatives } from "./use-jobs.ts";
import { fitHeight, isComposing } from "../chat/composer.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { Unread, usePageTitle } from "../whole-page.tsx";
import { useAddress } from "../use-address.ts";

export function JobView({ id }: { id: string }): ReactNode {
  const text = useText();
  const job = useJob(id);
  if (job.data !== undefined) return <OneJob job={job.data} />;

  return (
    <Unread
      error={job.error}
      onRetry={() => void job.refetch()}
      words={text.jobs}
      reading={text.jobs.loading}
      failed={text.jobs.loadFailed}
      to="/jobs"
    >
      {text.jobs.toList}
    </Unread>
  );
}

function OneJob({ job }: { job: JobDetail }): ReactNode {
  const text = useText();
  const { chosen: filters } = useAddress(readJobFilters);
  const title = `${job.requesterName} → ${job.targetName}`;
  usePageTitle(`${title} · ${excerptOf(job.topic ?? job.message).slice(0, 40)}`);

  return (
    <article className="job column wide" aria-label={title}>
      <header className="job-head toolbar">
        <Link
          to="/jobs"
          search={filters}
          className="job-back icon-link"
          aria-label={text.jobs.toList}
        >
          <IconArrowLeft size={18} stroke={1.7} aria-hidden />
        </Link>
        <div className="job-title">
          <h1>
            <AgentLink id={job.requester}>{job.requesterName}</AgentLink> →{" "}
            <AgentLink id={job.target}>{job.targetName}</AgentLink>
          </h1>
          <p className="soft small">
            {[text.jobs.intents[job.intent], job.topic].filter(Boolean).join(" · ")}
          </p>
        </div>
        <StatusBadge job={job} />
        <Actions job={job} />
      </header>
      <Outcome job={job} />
      <Facts job={job} />
      <Relatives job={job} />
      <Transcript job={job} />
      {!isJobOver(job.status) && <SpeakInto job={job} />}
    </article>
  );
}

/** How it ended, in words; where it did not succeed, why. */
function Outcome({ job }: { job: JobDetail }): ReactNode {
  const { text, language } = useLanguage();
  if (job.waiting === "pause") {
    return (
      <p className="job-outcome note" data-tone="warn" role="status">
        {text.jobs.pausedHint} <Link to="/agents">{text.jobs.toAgents}</Link>
      </p>
    );
  }
  if (job.waiting !== null) {
    return (
      <p className="job-outcome note" data-tone="warn" role="status">
        {text.jobs.waitingHint} <Link to="/escalations">{text.jobs.toEscalations}</Link>
      </p>
    );
  }

  if (job.outcome === null) return null;

  const error = job.status === "COMPLETED" ? null : job.lastError;

  return (
    <div
      className="job-outcome stack tight note"
      data-tone={job.status === "COMPLETED" ? "good" : job.status === "CANCELLED" ? "quiet" : "bad"}
      role="status"
    >
      <p>
        <strong>{text.jobs.outcomes[job.outcome]}</strong>{" "}
        {job.finishedAt !== null && (
          <time dateTime={new Date(job.finishedAt).toISOString()}>
            {momentOf(job.finishedAt, language)}
          </time>
        )}
      </p>
      {error !== null && (
        <p className="small">
          <ToldError error={error} /> <code>{error.code}</code>
        </p>
      )}
    </div>
  );
}

function Facts({ job }: { job: JobDetail }): ReactNode {
  const { text, language } = useLanguage();
  const { tokens, microUsd, isAtLeast } = spentOf(job.turns);

  const usd = new Intl.NumberFormat(language, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: 4,
  }).format(microUsd / 1_000_000);

  const { startedAt, finishedAt } = job;
  const hasBothTimes = startedAt !== null && finishedAt !== null;
  const tookMs = hasBothTimes ? finishedAt - startedAt : undefined;

  const rows: readonly (readonly [string, string])[] = [
    [text.jobs.facts.turns, text.jobs.turnsOf({ done: job.turnsDone, most: job.maxTurns })],
    [
      text.jobs.facts.spent,
      isAtLeast && microUsd === 0
        ? text.jobs.tokens({ count: tokens })
        : `${text.jobs.tokens({ count: tokens })} · ${usd}`,
    ],
    [text.jobs.facts.asked, momentOf(job.createdAt, language)],
    ...(tookMs === undefined ? [] : [[text.jobs.facts.took, spanOf(tookMs, language)] as const]),
    ...(job.resumes > 0
      ? [[text.jobs.facts.resumed, text.jobs.times({ count: job.resumes })] as const]
      : []),
  ];

  return (
    <dl className="job-facts terms">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Where it came from and what came of it: jobs that asked for it, and those that it asked for. */
function Relatives({ job }: { job: JobDetail }): ReactNode {
  const text = useText();
  const { chosen: filters } = useAddress(readJobFilters);
  const relatives = useRelatives(job);
  const { parent, children = [] } = relatives.data ?? {};
  return (
    <nav className="job-relatives" aria-label={text.jobs.relatives}>
      <ul>
        {parent !== undefined && (
          <li className="row top">
            <IconCornerLeftUp size={15} aria-hidden />
            <RelativeLink job={parent} words={text.jobs.parent} />
          </li>
        )}
        {job.retryOf !== null && (
          <li className="row top">
            <IconRotate size={15} aria-hidden />
            <Link to="/jobs/$id" params={{ id: job.retryOf }} search={filters}>
              {text.jobs.retryOf}
            </Link>
          </li>
        )}
        {children.map((child) => (
          <li className="row top" key={child.jobId}>
            <IconCornerDownRight size={15} aria-hidden />
            <RelativeLink job={child} words={text.jobs.child} />
          </li>
        ))}
        {(parent !== undefined || children.length > 0) && (
          <li className="row top">
            <IconListTree size={15} aria-hidden />
            <Link to="/jobs/$id" params={{ id: job.jobId }} search={{ root: job.rootId }}>
              {text.jobs.wholeWork}
            </Link>
          </li>
        )}
        <li className="row top">
          <IconTimeline size={15} aria-hidden />
          <Link to="/traces/$id" params={{ id: job.jobId }}>
            {text.common.chain}
          </Link>
        </li>
      </ul>
    </nav>
  );
}

function RelativeLink({ job, words }: { job: Job; words: string }): ReactNode {
  const { language } = useLanguage();
  const { chosen: filters } = useAddress(readJobFilters);

  return (
    <span className="cluster baseline">
      <span className="soft small">{words}</span>
      <Link to="/jobs/$id" params={{ id: job.jobId }} search={filters}>
        {job.requesterName} → {job.targetName}: {excerptOf(job.message)}
      </Link>
      <StatusBadge job={job} />
      <time className="soft small" dateTime={new Date(job.createdAt).toISOString()}>
        {whenOf(job.createdAt, language)}
      </time>
    </span>
  );
}

function Actions({ job }: { job: JobDetail }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();

  const settle = (): Promise<unknown> =>
    Promise.all(
      [JOB_KEYS.one(job.jobId), JOB_KEYS.lists].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );

  const cancel = useMutation({
    mutationFn: () => client.jobs.cancel(job.jobId),
    onSettled: settle,
  });

  const retry = useMutation({
    mutationFn: () => client.jobs.retry(job.jobId),
    onSettled: settle,
  });

  const error = cancel.error ?? retry.error;

  return (
    <div className="toolbar">
      {!isJobOver(job.status) && (
        <Button
          size="compact-md"
          variant="default"
          leftSection={<IconPlayerStop size={15} />}
          loading={cancel.isPending}
          onClick={() => window.confirm(text.jobs.cancelAsk) && cancel.mutate()}
        >
          {text.jobs.cancel}
        </Button>
      )}
      {job.lastError?.retry === true && (
        <Button
          size="compact-md"
          variant="default"
          leftSection={<IconRefresh size={15} />}
          loading={retry.isPending}
          onClick={() => retry.mutate()}
        >
          {text.jobs.retry}
        </Button>
      )}
      {error !== null && <Problem error={error} />}
    </div>
  );
}

// --- speak into

/** Where a person speaks into a running exchange. What could not be sent stays in the field. */
function SpeakInto({ job }: { job: JobDetail }): ReactNode {
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
