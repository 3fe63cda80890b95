import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { systemClock, type Costs, type Escalation, type Me } from "dure/client";
import { memo, useDeferredValue, useEffect, type ReactNode } from "react";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { moneyOf, tokensOf } from "../costs/sums.ts";
import { groupsOf } from "../escalations/order.ts";
import { EscalationTitle } from "../escalations/escalation-title.tsx";
import { useLanguage, useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useIsGone } from "../server-watch.ts";
import { momentOf, whenOf } from "../when.ts";
import { failedOf, firstStepsOf, runningOf, type Told } from "./overview.ts";
import { Steps } from "./steps.tsx";
import "./start.css";
import { TourCard } from "./tour.tsx";
import { useTold, type ToldHere } from "./use-told.ts";
import { WorkList } from "./work-list.tsx";

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
  useEffect(() => {
    document.title = `${words.pageTitle} · dure`;
  }, [words]);

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
          <span className="soft small">{text.start.tokens(tokensOf(costs.total))}</span>
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
          {words.all(gravestFirst.length)}
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
