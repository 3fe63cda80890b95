import { Link } from "@tanstack/react-router";
import { useId, type ReactNode } from "react";
import { statusWords } from "../jobs/status-badge.tsx";
import { excerptOf } from "../jobs/exchange.ts";
import { useLanguage, useText } from "../language.tsx";
import type { Text } from "../texts.ts";
import { useIsGone } from "../server-watch.ts";
import { momentOf, whenOf } from "../when.ts";
import type { Work } from "./overview.ts";

/** Rows that a list of the start page shows; how many more there are is said below. */
const MOST = 5;

/** Undefined: not read yet. */
export function WorkList({
  title,
  empty,
  work,
  isLive = false,
}: {
  title: string;
  empty: string;
  work: readonly Work[] | undefined;
  /** Whether its rows go on. */
  isLive?: boolean;
}): ReactNode {
  const words = useText().start;
  const heading = useId();
  const more = (work?.length ?? 0) - MOST;

  return (
    <section className="stack" aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      {work === undefined && <p className="start-unread" aria-hidden />}
      {work?.length === 0 && <p className="soft empty brief">{empty}</p>}
      {work !== undefined && work.length > 0 && (
        <ul className="start-list card divided">
          {work.slice(0, MOST).map((one) => (
            <li key={keyOf(one)}>
              <WorkRow work={one} isLive={isLive} />
            </li>
          ))}
        </ul>
      )}
      {more > 0 && <p className="soft small start-more">{words.more(more)}</p>}
    </section>
  );
}

function WorkRow({ work, isLive }: { work: Work; isLive: boolean }): ReactNode {
  const { text, language } = useLanguage();
  const { title, status, at } = wordsOf(work, text);
  const isStale = useIsGone() && isLive;

  return (
    <WorkLink work={work}>
      <span className="row">
        {isLive && isMoving(work) && <span className="pulse" aria-hidden />}
        <strong>{title}</strong>
      </span>
      <span className="soft small cluster">
        <span>{text.start.kinds[work.kind]}</span>
        {status !== "" && (
          <span data-bad={isLive ? undefined : true}>
            {isStale ? text.shell.connection.lastSeen(status) : status}
          </span>
        )}
        {at !== undefined && (
          <time dateTime={new Date(at).toISOString()} title={momentOf(at, language)}>
            {whenOf(at, language)}
          </time>
        )}
      </span>
    </WorkLink>
  );
}

function WorkLink({ work, children }: { work: Work; children: ReactNode }): ReactNode {
  const className = "start-row plain stack tight";
  switch (work.kind) {
    case "job":
      return (
        <Link to="/jobs/$id" params={{ id: work.job.jobId }} className={className}>
          {children}
        </Link>
      );
    case "run":
      return (
        <Link to="/plans/runs/$run" params={{ run: work.run.id }} className={className}>
          {children}
        </Link>
      );
    case "session":
      return (
        <Link
          to="/chat/$session"
          params={{ session: work.session.sessionId }}
          className={className}
        >
          {children}
        </Link>
      );
    case "agent":
      return (
        <Link to="/agents/$agent" params={{ agent: work.agent.id }} className={className}>
          {children}
        </Link>
      );
    default:
      return work satisfies never;
  }
}

interface RowWords {
  readonly title: string;
  readonly status: string;
  readonly at?: number | undefined;
}

function wordsOf(work: Work, text: Text): RowWords {
  switch (work.kind) {
    case "job": {
      const { job } = work;
      return {
        title: `${job.requesterName} → ${job.targetName}: ${job.topic ?? excerptOf(job.message)}`,
        status: statusWords(job, text.jobs),
        at: job.finishedAt ?? job.createdAt,
      };
    }
    case "run":
      return {
        title: work.run.plan,
        status: text.plans.runStatuses[work.run.status],
        at: work.run.finishedAt ?? work.run.createdAt,
      };
    case "session":
      return {
        title: work.session.title,
        status: "",
        at: Number(new Date(work.session.updatedAt)),
      };
    case "agent":
      return {
        title: work.agent.displayName,
        status: text.start.answering(work.agent.working),
      };
    default:
      return work satisfies never;
  }
}

/** Whether it goes on by itself; one that is paused or waits for a person does not. */
function isMoving(work: Work): boolean {
  if (work.kind === "job") return work.job.waiting === null;
  return work.kind !== "run" || work.run.status === "running";
}

function keyOf(work: Work): string {
  switch (work.kind) {
    case "job":
      return work.job.jobId;
    case "run":
      return work.run.id;
    case "session":
      return work.session.sessionId;
    case "agent":
      return work.agent.id;
    default:
      return work satisfies never;
  }
}
