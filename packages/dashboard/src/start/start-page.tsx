import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { systemClock, type Costs, type Escalation, type Me } from "dure/client";
import { memo, useDeferredValue, type ReactNode, useId } from "react";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { moneyOf, tokensOf } from "../costs/sums.ts";
import { groupsOf } from "../escalations/order.ts";
import { EscalationTitle } from "../escalations/escalation-title.tsx";
import { useLanguage, useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useIsGone } from "../server-watch.ts";
import { momentOf, whenOf } from "../when.ts";
import {
  failedOf,
  firstStepsOf,
  runningOf,
  type Told,
  nextStepsOf,
  type FirstStep,
  type SuggestedStep,
  type Work,
} from "./overview.ts";
import "./start.css";
import { TourCard } from "./tour.tsx";
import { useTold, type ToldHere } from "./use-told.ts";
import { IconArrowRight, IconCircle, IconCircleCheckFilled } from "@tabler/icons-react";
import { Prose } from "../prose.tsx";
import { statusWords } from "../jobs/status-badge.tsx";
import { excerptOf } from "../jobs/exchange.ts";
import type { Text } from "../language.tsx";
import { usePageTitle } from "../whole-page.tsx";

/** The first page: what this is, what waits for me, what runs, what failed, what it has cost. */
export function StartPage(): ReactNode {
  const { client } = useParts();
  const me = useQuery(meOf(client));
  return me.data === undefined ? null : <Overview me={me.data} />;
}

/** Lists that come in are drawn in slices: keys are heard meanwhile. */
function Overview({ me }: { me: Me }): ReactNode {
  const told = useDeferredValue(useTold(me));
  return <Paper told={told} />;
}

const Paper = memo(function Paper({ told }: { told: ToldHere }): ReactNode {
  const words = useText().start;
  const isGone = useIsGone();
  const { jobs, runs, sessions, agents, trouble } = told;
  const isRead = jobs !== undefined && runs !== undefined;
  const isAllRead = isRead && sessions !== undefined && agents !== undefined;
  const running = isAllRead ? runningOf(told) : undefined;
  const failed = isRead ? failedOf(told, systemClock.now()) : undefined;
  usePageTitle(words.pageTitle);

  return (
    <div className="page">
      <header>
        <h1>{words.pageTitle}</h1>
        <p className="soft">{words.what}</p>
      </header>
      {trouble !== undefined && !isGone && <Problem {...trouble} />}
      <Counts told={told} running={running?.length} failed={failed?.length} />
      <div className="start-columns" data-unread={firstStepsOf(told) === undefined || undefined}>
        <div>
          {told.escalations !== null && <Waiting escalations={told.escalations} />}
          <WorkList title={words.running.title} empty={words.running.empty} work={running} isLive />
          <WorkList title={words.failed.title} empty={words.failed.empty} work={failed} />
        </div>
        <div>
          <Steps told={told} />
          <TourCard />
        </div>
      </div>
    </div>
  );
});

function Counts({
  told: { escalations, costs },
  running,
  failed,
}: {
  told: Told;
  running: number | undefined;
  failed: number | undefined;
}): ReactNode {
  const words = useText().start.counts;
  return (
    <dl className="start-counts">
      {escalations !== null && (
        <Count name={words.waiting} value={escalations?.length} tone="warn" />
      )}
      <Count name={words.running} value={running} tone="now" />
      <Count name={words.failed} value={failed} tone="bad" />
      {costs !== null && <Spent costs={costs} />}
    </dl>
  );
}

/** Lists are read to this length: from here on there may be more. */
const MANY = 100;

function Count(props: {
  name: string;
  value: number | undefined;
  tone: "warn" | "now" | "bad";
}): ReactNode {
  const { name, value, tone } = props;
  const shown = value === undefined ? "–" : value >= MANY ? `${MANY}+` : String(value);
  return (
    <div data-tone={value ? tone : undefined}>
      <dt>{name}</dt>
      <dd>{shown}</dd>
    </div>
  );
}

function Spent({ costs }: { costs: Costs | undefined }): ReactNode {
  const { text, language } = useLanguage();
  return (
    <div>
      <dt>{text.start.counts.spent}</dt>
      <dd>
        {costs === undefined ? "–" : moneyOf(costs.total.microUsd, language)}
        {costs !== undefined && (
          <span className="soft small">{text.start.tokens({ count: tokensOf(costs.total) })}</span>
        )}
      </dd>
    </div>
  );
}

/** Shown of what waits; the rest stands in the inbox. */
const MOST_WAITING = 3;

function Waiting({ escalations }: { escalations: readonly Escalation[] | undefined }): ReactNode {
  const words = useText().start.waiting;
  const gravestFirst = groupsOf(escalations ?? []).flatMap(({ items }) => items);

  return (
    <section className="stack" aria-labelledby="start-waiting">
      <h2 id="start-waiting">{words.title}</h2>
      {escalations === undefined && <p className="start-unread" aria-hidden />}
      {escalations?.length === 0 && <p className="soft empty brief">{words.empty}</p>}
      {gravestFirst.length > 0 && (
        <ul className="start-list card divided">
          {gravestFirst.slice(0, MOST_WAITING).map((one) => (
            <li key={one.id}>
              <WaitingRow escalation={one} />
            </li>
          ))}
        </ul>
      )}
      {gravestFirst.length > MOST_WAITING && (
        <Link to="/escalations" className="start-more small">
          {words.all({ count: gravestFirst.length })}
        </Link>
      )}
    </section>
  );
}

function WaitingRow({ escalation }: { escalation: Escalation }): ReactNode {
  const { text, language } = useLanguage();
  const { title, type, severity, createdAt } = escalation;
  return (
    <Link to="/escalations" className="start-row plain stack tight" data-severity={severity}>
      <span className="row">
        <strong>
          <EscalationTitle title={title} />
        </strong>
      </span>
      <span className="soft small cluster">
        <span className="start-severity">{text.escalations.severities[severity]}</span>
        <span>{text.escalations.titles[type]}</span>
        <time dateTime={new Date(createdAt).toISOString()} title={momentOf(createdAt, language)}>
          {whenOf(createdAt, language)}
        </time>
      </span>
    </Link>
  );
}

// --- steps

/** A new team's checklist, and after it what is worth doing next. */
function Steps({ told }: { told: Told }): ReactNode {
  const steps = firstStepsOf(told);
  if (steps === undefined) return null;
  if (steps.some(({ isDone }) => !isDone)) return <FirstSteps steps={steps} />;

  const now = systemClock.now();
  const failed = failedOf(told, now)[0];
  return <NextSteps steps={nextStepsOf(told, now)} hasFailedRun={failed?.kind === "run"} />;
}

function FirstSteps({ steps }: { steps: NonNullable<ReturnType<typeof firstStepsOf>> }): ReactNode {
  const words = useText().start.first;
  const hasAgents = steps.some(({ id, isDone }) => id === "agent" && isDone);
  const done = steps.filter(({ isDone }) => isDone).length;

  return (
    <section className="stack start-first" aria-labelledby="start-first">
      <h2 id="start-first">{words.title}</h2>
      <p className="soft small">
        {words.doneOf({ done, all: steps.length })}. {words.lead}
      </p>
      <ol className="start-steps card stack loose">
        {steps.map(({ id, isDone }) => (
          <li key={id} data-done={isDone}>
            <Step id={id} isDone={isDone} hasAgents={hasAgents} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Step({
  id,
  isDone,
  hasAgents,
}: {
  id: FirstStep;
  isDone: boolean;
  /** Without agents there is no room. */
  hasAgents: boolean;
}): ReactNode {
  const words = useText().start.first;
  const Icon = isDone ? IconCircleCheckFilled : IconCircle;

  return (
    <>
      <Icon size={20} stroke={1.6} role="img" aria-label={isDone ? words.done : words.open} />
      <div>
        <strong>{words.names[id]}</strong>
        {!isDone && (
          <p className="soft small">
            <Prose text={words.hints[id]} />
          </p>
        )}
        {!isDone && id === "room" && hasAgents && <Link to="/rooms">{words.go.room}</Link>}
        {!isDone && id === "plan" && <Link to="/plans">{words.go.plan}</Link>}
      </div>
    </>
  );
}

const WAYS = {
  decide: "/escalations",
  look: "/jobs",
  budget: "/costs",
  talk: "/chat",
} as const satisfies Record<SuggestedStep, string>;

function NextSteps({
  steps,
  hasFailedRun,
}: {
  steps: readonly SuggestedStep[];
  /** Whether the newest failure is a run, not a job. */
  hasFailedRun: boolean;
}): ReactNode {
  const words = useText().start.next;
  return (
    <section className="stack" aria-labelledby="start-next">
      <h2 id="start-next">{words.title}</h2>
      <ul className="start-list card divided">
        {steps.map((step) => (
          <li key={step}>
            <Link
              to={step === "look" && hasFailedRun ? "/plans" : WAYS[step]}
              className="start-row plain stack tight start-next-row"
            >
              <span className="stack tight">
                <strong>{words[step]}</strong>
                {step === "budget" && (
                  <span className="soft small">
                    <Prose text={words.budgetHint} />
                  </span>
                )}
              </span>
              <IconArrowRight size={16} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

// --- work list

/** Rows that a list of the start page shows; how many more there are is said below. */
const MOST = 5;

/** Undefined: not read yet. */
function WorkList({
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
      {more > 0 && <p className="soft small start-more">{words.more({ count: more })}</p>}
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
            {isStale ? text.shell.connection.lastSeen({ status }) : status}
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
        status: text.start.answering({ count: work.agent.working }),
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
