import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleX,
  IconLoader2,
  type Icon,
} from "@tabler/icons-react";
import type { PortDetail, PlanStep, TestFeedback } from "dure/client";
import { useId, type ReactNode } from "react";
import { Markdown } from "../chat/markdown.tsx";
import { ToldError } from "../problem.tsx";
import { useLanguage, useText } from "../language.tsx";
import { spanOf } from "../when.ts";
import { feedbackOf, triesOf, workOf, type TryOutcome, type PortTry } from "./port-tries.ts";

const LOOKS = {
  running: { Icon: IconLoader2, tone: "now" },
  passed: { Icon: IconCircleCheck, tone: "good" },
  failed: { Icon: IconCircleX, tone: "bad" },
  violated: { Icon: IconAlertTriangle, tone: "bad" },
  stopped: { Icon: IconAlertTriangle, tone: "warn" },
} as const satisfies Record<TryOutcome, { Icon: Icon; tone: string }>;

/** Every try of a port, newest first: what was made, what the tests said. */
export function Tries({ port }: { port: PortDetail }): ReactNode {
  const text = useText();
  const { before, tries } = triesOf(port.steps, port.status === "running");
  if (tries.length === 0 && before.length === 0) {
    return <p className="soft port-part stack loose">{text.plans.port.noTries}</p>;
  }

  return (
    <div className="port-part stack loose">
      <ol className="tries stack loose">
        {tries.map((one) => (
          <li key={one.number}>
            <Try one={one} />
          </li>
        ))}
      </ol>
      {before.map((step) => (
        <Step key={step.id} step={step} />
      ))}
    </div>
  );
}

function Try({ one }: { one: PortTry }): ReactNode {
  const words = useText().plans.port;
  const heading = useId();
  const { Icon, tone } = LOOKS[one.outcome];

  return (
    <section className="try card stack" data-tone={tone} aria-labelledby={heading}>
      <header className="cluster">
        <h2 id={heading}>{words.tryTitle({ number: one.number })}</h2>
        <span className="plan-mark badge" data-tone={tone}>
          <Icon
            size={14}
            stroke={2}
            aria-hidden
            className={one.outcome === "running" ? "plan-turning" : undefined}
          />
          {words.outcomes[one.outcome]}
        </span>
        {one.by === "orchestrator" && (
          <span className="soft small">{words.tryBy({ who: words.members["orchestrator"]! })}</span>
        )}
      </header>
      {one.isRecalled && <p className="warn small">{words.recalled}</p>}
      {one.feedback !== undefined && <Feedback feedback={one.feedback} />}
      <ol className="stack">
        {one.steps.map((step) => (
          <li key={step.id}>
            <Step step={step} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What the tests said: how many, and those that failed with what was expected and what came. */
export function Feedback({ feedback }: { feedback: TestFeedback }): ReactNode {
  const words = useText().plans.port;
  const { metrics, failedTests, suggestions } = feedback;

  return (
    <div className="feedback stack">
      {metrics.total > 0 && <Metrics metrics={metrics} />}
      {failedTests.length > 0 && (
        <ul className="failing stack" aria-label={words.failing}>
          {failedTests.map((test, index) => (
            <li className="note bad stack tight" key={index}>
              <FailedTest test={test} />
            </li>
          ))}
        </ul>
      )}
      {suggestions.length > 0 && (
        <div className="small">
          <p className="soft">{words.suggestions}</p>
          <ul className="suggestions stack tight bullets">
            {suggestions.map((suggestion, index) => (
              <li key={index}>{suggestion}</li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function Metrics({ metrics }: Pick<TestFeedback, "metrics">): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const { passed, total, failed, durationMs, coverage } = metrics;

  return (
    <p className="small">
      {words.metrics({ passed, total, failed })} · {spanOf(durationMs, language)}
      {coverage !== undefined && ` · ${words.coverage({ percent: Math.round(coverage * 100) })}`}
    </p>
  );
}

function FailedTest({ test }: { test: TestFeedback["failedTests"][number] }): ReactNode {
  const words = useText().plans.port;
  const { name, file, line, expected, actual, suggestedFix, stackTrace = "" } = test;

  return (
    <>
      <p>
        <IconCircleX size={15} aria-hidden /> <strong>{name}</strong>
      </p>
      {file !== undefined && (
        <code className="plan-place">{line === undefined ? file : `${file}:${line}`}</code>
      )}
      {(expected !== undefined || actual !== undefined) && (
        <dl className="expected small stack tight pairs">
          {expected !== undefined && (
            <Compared kind="expected" label={words.expected} value={expected} />
          )}
          {actual !== undefined && <Compared kind="actual" label={words.actual} value={actual} />}
        </dl>
      )}
      {suggestedFix !== undefined && (
        <p className="small">
          {words.fix}: {suggestedFix}
        </p>
      )}
      {stackTrace !== "" && (
        <details className="more">
          <summary>{words.stack}</summary>
          <pre tabIndex={0}>{stackTrace}</pre>
        </details>
      )}
    </>
  );
}

function Compared({
  kind,
  label,
  value,
}: {
  kind: "expected" | "actual";
  label: string;
  value: string;
}): ReactNode {
  return (
    <div data-kind={kind}>
      <dt>{label}</dt>
      <dd>
        <code>{value}</code>
      </dd>
    </div>
  );
}

/** Files in which what a worker says and what git found part. */
function Parted({ title, paths }: { title: string; paths: readonly string[] }): ReactNode {
  return (
    <p className="small">
      <IconAlertTriangle size={15} aria-hidden /> {title}:{" "}
      {paths.slice(0, 10).map((path, index) => (
        <code key={path}>{index === 0 ? path : `, ${path}`}</code>
      ))}
      {paths.length > 10 && ` +${paths.length - 10}`}
    </p>
  );
}

/** One step: who did what, how long it took, and what was printed. */
export function Step({ step }: { step: PlanStep }): ReactNode {
  const words = useText().plans.port;
  const work = workOf(step);
  const own = step.kind === "test" ? feedbackOf(step) : undefined;

  return (
    <div className="try-step stack tight ruled">
      <p className="small cluster baseline">
        <strong>{words.steps[step.kind]}</strong>
        {step.member !== null && (
          <span className="soft">
            {[words.members[step.member], step.worker].filter(Boolean).join(" · ")}
          </span>
        )}
        <StepFacts step={step} />
      </p>
      {work !== undefined && <Work work={work} />}
      {own !== undefined && own.suggestions.length > 0 && (
        <Feedback feedback={{ ...own, failedTests: [], metrics: { ...own.metrics, total: 0 } }} />
      )}
      {step.log !== "" && (
        <details className="more">
          <summary>{words.log}</summary>
          <pre tabIndex={0}>{step.log}</pre>
        </details>
      )}
    </div>
  );
}

function StepFacts({ step }: { step: PlanStep }): ReactNode {
  const { text, language } = useLanguage();
  const { run, port: words } = text.plans;
  const tokens = step.tokensIn + step.tokensOut;
  const exitCode = step.output?.exitCode;

  const facts = [
    tokens > 0 ? run.tokensShort({ count: tokens }) : "",
    step.starts > 1 ? words.starts({ count: step.starts }) : "",
    exitCode === undefined ? "" : words.exit({ code: String(exitCode ?? run.noCode) }),
    step.finishedAt === null
      ? words.outcomes["running"]
      : spanOf(step.finishedAt - step.startedAt, language),
  ];

  return <span className="meta end">{facts.filter((part) => part !== "").join(" · ")}</span>;
}

/** What a worker says that it did, and what was found of it. */
function Work({ work }: { work: NonNullable<ReturnType<typeof workOf>> }): ReactNode {
  const words = useText().plans.port;
  const { status = "failed", summary, error, failedFiles = [], unclaimedFiles = [] } = work;

  return (
    <>
      {status !== "ready" && <strong>{words.results[status]}</strong>}
      {summary !== undefined && <Markdown>{summary}</Markdown>}
      {error !== undefined && (
        <p className="error-note small">
          <ToldError error={error} />
        </p>
      )}
      {failedFiles.length > 0 && <Parted title={words.failedFiles} paths={failedFiles} />}
      {unclaimedFiles.length > 0 && <Parted title={words.unclaimedFiles} paths={unclaimedFiles} />}
      <ChangedFiles changes={work.changes ?? []} />
    </>
  );
}

function ChangedFiles({
  changes,
}: {
  changes: readonly { readonly path: string; readonly kind: string }[];
}): ReactNode {
  const words = useText().plans.port;
  if (changes.length === 0) return null;

  return (
    <details className="more">
      <summary>{words.changed({ count: changes.length })}</summary>
      <ul className="small stack tight">
        {changes.map(({ path, kind }) => (
          <li key={path}>
            <code>{path}</code> <span className="soft">{words.changes[kind] ?? kind}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
