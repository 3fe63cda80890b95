import { Button, Checkbox, Loader, SegmentedControl, TextInput } from "@mantine/core";
import {
  IconAlertTriangle,
  IconArrowLeft,
  IconCheck,
  IconFlag3,
  IconFolder,
  IconGitBranch,
  IconPlayerPlay,
  IconShieldOff,
  IconX,
} from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import {
  DureError,
  systemClock,
  ulid,
  type PlanFile,
  type PlanSource,
  type PlanView,
  type RunChoice,
  type RunMode,
} from "dure/client";
import { useId, useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { CodedText } from "../coded.tsx";
import { wordsOf } from "../words.ts";
import { useText } from "../language.tsx";
import { Prose } from "../prose.tsx";
import type { Text } from "../language.tsx";
import "@mantine/core/styles/Checkbox.css";
import "../panel/panel.css";
import "./plans.css";
import { textOf } from "./kept-text.ts";
import { markedOf } from "./port-order.ts";
import { PlanProblems } from "./plan-problems.tsx";
import { readChoice, readStart, type StartSearch } from "./run-filters.ts";
import { useBefore, usePlanFiles } from "./use-plans.ts";
import { usePageTitle } from "../whole-page.tsx";

/** What a plan would do, before anything is done; and the button that begins it. */
export function BeforePage(): ReactNode {
  const text = useText();
  const { plan } = useParams({ from: "/plans/start/$plan" });
  const search = useSearch({ from: "/plans/start/$plan" });
  const choice = readChoice(search);
  const source = sourceOf(plan, search);
  const before = useBefore(source, choice);
  usePageTitle(text.plans.before.title({ plan }));

  return (
    <div className="plans page">
      <header className="run-head toolbar">
        <Link to="/plans" className="icon-link" aria-label={text.plans.before.toPlans}>
          <IconArrowLeft size={18} stroke={1.7} aria-hidden />
        </Link>
        <div className="grow">
          <h1>{text.plans.before.title({ plan })}</h1>
          {before.error === null && <p className="soft">{text.plans.before.lead}</p>}
        </div>
      </header>
      {source === undefined && <p role="alert">{text.plans.before.textGone}</p>}
      {source !== undefined && "text" in source && (
        <p className="soft small">{text.plans.before.textOnly}</p>
      )}
      {source !== undefined && (
        <Where
          key={`${choice.repository} ${choice.base}`}
          repository={choice.repository ?? ""}
          base={choice.base ?? ""}
        />
      )}
      {source !== undefined && before.isPending && (
        <Loader type="dots" role="status" aria-label={text.plans.loading} />
      )}
      {before.error !== null && (
        <Refused
          plan={plan}
          isFile={search.text === undefined}
          error={before.error}
          onRetry={() => void before.refetch()}
        />
      )}
      {source !== undefined && before.data !== undefined && (
        <Shown
          view={before.data}
          source={source}
          choice={choice}
          isStale={before.isPlaceholderData}
        />
      )}
    </div>
  );
}

/**
 * What an address means: a plan of the team by its name, or the text that its key names; undefined
 * when that is gone.
 */
function sourceOf(plan: string, { text }: StartSearch): PlanSource | undefined {
  return text === undefined ? { plan } : textOf(text);
}

type FoundProblems = Pick<PlanFile, "problems" | "problemCount">;

const NONE: FoundProblems = { problems: [], problemCount: 0 };

/** What a refused text has wrong; at most 50 are listed. Details keep the names of the wire. Pure. */
function toldBy({ details }: DureError): FoundProblems {
  const problems =
    (details?.["problems"] as FoundProblems["problems"] | undefined) ?? NONE.problems;
  const problemCount = (details?.["problem_count"] as number | undefined) ?? problems.length;
  return { problems, problemCount };
}

/** Why it cannot be shown; of a wrong plan every place that is to be changed. */
function Refused({
  plan,
  isFile,
  error,
  onRetry,
}: {
  plan: string;
  isFile: boolean;
  error: Error;
  onRetry: () => void;
}): ReactNode {
  const text = useText();
  const files = usePlanFiles();
  const isInvalid = error instanceof DureError && error.code === "PLAN_INVALID";

  const { problems, problemCount } = isInvalid
    ? isFile
      ? (files.data?.find(({ name }) => name === plan) ?? NONE)
      : toldBy(error)
    : NONE;

  const again = (): void => {
    void files.refetch();
    onRetry();
  };

  return (
    <>
      <Problem error={error} onRetry={again} />
      {problems.length > 0 && (
        <div className="plan-file card stack" data-broken>
          <strong>{text.plans.problems({ count: problemCount })}</strong>
          <PlanProblems problems={problems} label={text.plans.problemList({ plan })} />
        </div>
      )}
    </>
  );
}

/**
 * Another repository or another branch for the same plan; it is looked at before anything is begun.
 */
function Where({ repository, base }: { repository: string; base: string }): ReactNode {
  const words = useText().plans.before;
  const navigate = useNavigate();
  const [folder, setFolder] = useState(repository);
  const [branch, setBranch] = useState(base);
  const wanted = { repository: folder.trim(), base: branch.trim() };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => readStart({ ...before, ...wanted }),
      replace: true,
    });
  };

  return (
    <details className="more" open={repository !== "" || base !== "" || undefined}>
      <summary>{words.where}</summary>
      <form className="toolbar bottom" onSubmit={submit}>
        <TextInput
          size="sm"
          maxLength={1_000}
          label={words.repository}
          description={words.repositoryHint}
          placeholder="../shop"
          leftSection={<IconFolder size={15} />}
          value={folder}
          onChange={(event) => setFolder(event.currentTarget.value)}
        />
        <TextInput
          size="sm"
          maxLength={255}
          label={words.otherBase}
          description={words.otherBaseHint}
          placeholder="develop"
          leftSection={<IconGitBranch size={15} />}
          value={branch}
          onChange={(event) => setBranch(event.currentTarget.value)}
        />
        <Button
          type="submit"
          size="sm"
          variant="default"
          disabled={wanted.repository === repository && wanted.base === base}
        >
          {words.showThere}
        </Button>
      </form>
    </details>
  );
}

function Shown({
  view,
  source,
  choice,
  isStale,
}: {
  view: PlanView;
  source: PlanSource;
  choice: RunChoice;
  isStale: boolean;
}): ReactNode {
  const words = useText().plans.before;
  return (
    <div className="before stack wide" data-stale={isStale || undefined}>
      {view.isolationWanted === "audit" && (
        <p className="run-banner small banner top warns" role="note">
          <IconShieldOff size={18} aria-hidden />
          <span>{words.audit}</span>
        </p>
      )}
      <PlanFacts view={view} choice={choice} />
      <Start
        key={JSON.stringify([source, choice])}
        source={source}
        choice={choice}
        isStale={isStale}
      />
      <Levels view={view} />
      <Mode view={view} />
      <Unowned view={view} />
      {view.warnings.length > 0 && <Warnings warnings={view.warnings} />}
    </div>
  );
}

function PlanFacts({ view, choice }: { view: PlanView; choice: RunChoice }): ReactNode {
  const text = useText();
  const words = text.plans.before;

  const repository: readonly (readonly [string, ReactNode])[] =
    choice.repository === undefined
      ? []
      : [[words.repository, <code key="repository">{choice.repository}</code>]];

  const networks = view.network.map(({ of, policy, hosts }) => {
    const allowed = words.policies[policy];
    const named = hosts.length === 0 ? allowed : `${allowed}: ${hosts.join(", ")}`;
    return [words.networkOf({ of, worker: /^workers\.([^.]+)/.exec(of)?.[1] }), named] as const;
  });

  const integration =
    view.integration === undefined ? words.none : <code key="integration">{view.integration}</code>;

  const rows: readonly (readonly [string, ReactNode])[] = [
    ...repository,
    [words.base, <code key="base">{`${view.base} · ${view.baseCommit.slice(0, 10)}`}</code>],
    [words.ports, text.plans.ports({ count: view.ports.length })],
    [words.maxParallel, words.maxParallelOf({ count: view.maxParallel })],
    [words.isolation, text.plans.run.isolations[view.isolationWanted]],
    ...networks,
    [words.integration, integration],
  ];

  return (
    <dl className="terms">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Warnings({ warnings }: Pick<PlanView, "warnings">): ReactNode {
  const words = useText().plans.before;
  return (
    <section>
      <h2>{words.warnings}</h2>
      <ul className="stack">
        {warnings.map((warning, index) => (
          <li className="row top warns" key={index}>
            <IconAlertTriangle size={15} aria-hidden />{" "}
            <span>
              <CodedText words={words.warningWords} coded={warning} sentence={warning.message} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Start({
  source,
  choice,
  isStale,
}: {
  source: PlanSource;
  choice: RunChoice;
  isStale: boolean;
}): ReactNode {
  const text = useText();
  const { client } = useParts();
  const navigate = useNavigate();
  // Pressed twice, or again after a lost answer, it is the same run; another choice is another one.
  const [key] = useState(() => ulid(systemClock.now()));

  const start = useMutation({
    mutationFn: () => client.plans.start({ ...source, ...choice }, { idempotencyKey: key }),
    onSuccess: ({ id }) => navigate({ to: "/plans/runs/$run", params: { run: id } }),
  });

  return (
    <div className="toolbar loose">
      <Button
        leftSection={<IconPlayerPlay size={17} />}
        loading={start.isPending}
        disabled={isStale}
        onClick={() => start.mutate()}
      >
        {text.plans.before.start}
      </Button>
      {start.error !== null && <Problem error={start.error} />}
    </div>
  );
}

/** Ports level by level, the critical path marked; some of them can be chosen. */
function Levels({ view }: { view: PlanView }): ReactNode {
  const words = useText().plans.before;
  const heading = useId();
  const navigate = useNavigate();
  const { only, from, ...rest } = useSearch({ from: "/plans/start/$plan" });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set((only ?? from)?.split(",")));
  const [how, setHow] = useState<How>(from === undefined ? "only" : "from");

  const choice = view.ports
    .filter(({ id }) => chosen.has(id))
    .map(({ id }) => id)
    .join(",");

  const isSameHow = choice === "" || (how === "only") === (only !== undefined);
  const isShown = choice === (only ?? from ?? "") && isSameHow;

  const showAgain = (): void => {
    const search = choice === "" ? rest : { ...rest, [how]: choice };
    void navigate({ to: ".", search, replace: true });
  };

  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{words.levels}</h2>
      <p className="soft small">{words.levelsLead}</p>
      <LevelList view={view} chosen={chosen} onToggle={(id) => setChosen(toggled(chosen, id))} />
      {chosen.size > 0 && <HowChoice how={how} onChange={setHow} />}
      <p className="soft small before-how-hint">
        {chosen.size === 0 ? words.chooseHint : how === "only" ? words.onlyHint : words.fromHint}
      </p>
      {!isShown && (
        <Button size="compact-sm" variant="default" onClick={showAgain}>
          {words.showAgain}
        </Button>
      )}
    </section>
  );
}

/** The chosen ports and what they need, or they and what needs them. */
type How = "only" | "from";

function toggled(chosen: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const after = new Set(chosen);
  if (!after.delete(id)) after.add(id);
  return after;
}

function LevelList({
  view,
  chosen,
  onToggle,
}: {
  view: PlanView;
  chosen: ReadonlySet<string>;
  onToggle: (port: string) => void;
}): ReactNode {
  const text = useText();
  const titles = new Map(view.ports.map(({ id, title }) => [id, title]));
  const critical = markedOf(view.criticalPath);

  const portOf = (id: string): ReactNode => (
    <li className="cluster baseline between" key={id} data-critical={critical.has(id) || undefined}>
      <Checkbox
        size="xs"
        checked={chosen.has(id)}
        onChange={() => onToggle(id)}
        label={titles.get(id) ?? id}
      />
      {critical.has(id) && (
        <span className="badge good">
          <IconFlag3 size={13} aria-hidden />
          {text.plans.before.criticalPath}
        </span>
      )}
    </li>
  );

  return (
    <ol className="before-levels row top">
      {view.levels.map((ids, index) => (
        <li className="card" key={index}>
          <h3 className="meta">{text.plans.run.level({ number: index + 1 })}</h3>
          <ul className="stack">{ids.map(portOf)}</ul>
        </li>
      ))}
    </ol>
  );
}

function HowChoice({ how, onChange }: { how: How; onChange: (how: How) => void }): ReactNode {
  const words = useText().plans.before;
  return (
    <SegmentedControl
      size="xs"
      className="before-how"
      aria-label={words.only}
      value={how}
      onChange={(next) => onChange(next === "from" ? "from" : "only")}
      data={[
        { value: "only", label: words.hows.only },
        { value: "from", label: words.hows.from },
      ]}
    />
  );
}

/** Why it is worked on like this: every condition with its value. */
export function Mode({ view: { mode } }: { view: Pick<PlanView, "mode"> }): ReactNode {
  const words = useText().plans.before;
  return (
    <section>
      <h2>{words.mode}</h2>
      <p>
        <strong>{words.modes[mode.mode] ?? mode.mode}</strong>
      </p>
      <p className="soft small">
        <Prose text={modeHintOf(mode, words)} />
      </p>
      <div className="table-room" tabIndex={0} role="group" aria-label={words.mode}>
        <table className="mode-table small">
          <thead>
            <tr>
              <th scope="col">{words.condition}</th>
              <th scope="col">{words.value}</th>
              <th scope="col">
                <span className="hidden-words">{words.holds}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {mode.conditions.map(({ holds, ...condition }) => (
              <tr key={condition.name} data-holds={holds || undefined}>
                <Condition {...condition} />
                <td>
                  {holds ? <IconCheck size={14} aria-hidden /> : <IconX size={14} aria-hidden />}{" "}
                  {holds ? words.holds : words.fails}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The reason for the way of working: what the plan says, else its conditions. Pure. */
function modeHintOf(
  { mode, oneContext, wanted = "auto" }: RunMode,
  words: Text["plans"]["before"],
): string {
  if (wanted !== "auto") return words.modeWanted({ wanted });
  return words.modeHints[oneContext === true ? "one-context" : mode] ?? "";
}

/** A condition and its value; one of an earlier version of the server has no code. */
function Condition({
  code,
  facts = {},
  name,
  value,
}: Omit<RunMode["conditions"][number], "holds">): ReactNode {
  const words = useText().plans.before;
  const coded = code === undefined ? null : { code, facts };

  return (
    <>
      <th scope="row">
        <CodedText words={words.conditions} coded={coded} sentence={name} />
      </th>
      <td>{wordsOf(words.values, coded) ?? value}</td>
    </>
  );
}

function Unowned({ view: { unowned, unownedCount } }: { view: PlanView }): ReactNode {
  const words = useText().plans.before;
  if (unownedCount === 0) return null;

  return (
    <section>
      <h2>{words.unowned}</h2>
      <details className="more">
        <summary>{words.unownedCount({ count: unownedCount })}</summary>
        <ul className="small stack tight">
          {unowned.map((path) => (
            <li key={path}>
              <code>{path}</code>
            </li>
          ))}
        </ul>
        {unowned.length < unownedCount && (
          <p className="soft small">{words.unownedShown({ shown: unowned.length })}</p>
        )}
      </details>
    </section>
  );
}
