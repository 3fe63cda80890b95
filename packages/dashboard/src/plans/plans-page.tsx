import { Button, NativeSelect, TextInput } from "@mantine/core";
import {
  IconAlertTriangle,
  IconArchive,
  IconCircleCheck,
  IconListCheck,
  IconPlayerPlay,
  IconRefresh,
  IconSearch,
  IconSitemap,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { isRunOver, PLAN_RUN_STATUSES, type ListedRun, type PlanFile } from "dure/client";
import { useState, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { useLanguage, useText, useWords } from "../language.tsx";
import { lettersOf } from "../rooms/mention.ts";
import { momentOf, spanOf, whenOf } from "../when.ts";
import { Prose } from "../prose.tsx";
import "./plans.css";
import { BecauseLine } from "./because-words.tsx";
import { CleanRuns } from "./clean-runs.tsx";
import { PlanBench } from "./plan-bench.tsx";
import { PlanProblems } from "./plan-problems.tsx";
import { readRunFilters } from "./run-filters.ts";
import { Bar, RunMark } from "./status-mark.tsx";
import { doneOf, useMayRun, usePlanFiles, useRunList, RUN_NEWS } from "./use-plans.ts";
import { DRAFTS_WORDS } from "words:later/drafts";
import { useDrafts } from "./use-drafts.ts";
import { useNews } from "../asked.ts";
import { usePageTitle } from "../whole-page.tsx";
import { useAddress } from "../use-address.ts";

/** Plan files of the team, and every run of them. */
export function PlansPage(): ReactNode {
  const text = useText();
  const files = usePlanFiles();
  const { chosen: filters } = useAddress(readRunFilters);
  const runs = useRunList(filters.status);
  // What goes on is looked at more often than what could be begun.
  const hasRuns =
    filters.status !== undefined || runs.data?.pages.some(({ items }) => items.length > 0);
  const isFirst = !runs.isPending && hasRuns === true;
  useNews(RUN_NEWS);
  usePageTitle(text.plans.pageTitle);

  return (
    <div className="plans page">
      <header>
        <h1>{text.plans.pageTitle}</h1>
        <p className="soft">{text.plans.lead}</p>
      </header>
      {isFirst && <Runs key="runs" />}
      <div key="files" hidden={runs.isPending /* the runs would move it */}>
        <PlanFiles files={files} />
      </div>
      {!isFirst && (
        <div key="no-runs" hidden={files.isPending /* it would be moved by the files */}>
          <Runs />
        </div>
      )}
    </div>
  );
}

/** Files beyond which they can be searched. */
const SEARCH_FROM = 6;

type Files = ReturnType<typeof usePlanFiles>;

function PlanFiles({ files }: { files: Files }): ReactNode {
  const text = useText();
  const [search, setSearch] = useState("");
  const [isAtBench, setAtBench] = useState(false);
  const all = files.data ?? [];
  const shown = all.filter(({ name, file }) =>
    lettersOf(`${name} ${file}`).includes(lettersOf(search.trim())),
  );

  return (
    <section className="stack loose" aria-labelledby="plan-files">
      <header className="toolbar between">
        <h2 id="plan-files">{text.plans.files}</h2>
        {all.length >= SEARCH_FROM && (
          <TextInput
            size="sm"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            placeholder={text.plans.findFiles}
            aria-label={text.plans.findFiles}
            leftSection={<IconSearch size={15} />}
          />
        )}
        <div className="plans-tools toolbar">
          {all.length > 0 && <CheckAgain files={files} />}
          {!isAtBench && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconListCheck size={15} />}
              onClick={() => setAtBench(true)}
            >
              {text.plans.bench.title}…
            </Button>
          )}
        </div>
      </header>
      <DraftList />
      {isAtBench && <PlanBench onLeave={() => setAtBench(false)} />}
      {files.error !== null && <Problem error={files.error} onRetry={() => void files.refetch()} />}
      {files.isSuccess &&
        shown.length === 0 &&
        (search.trim() === "" ? (
          <Empty words={text.plans.filesEmpty} hint={text.plans.filesEmptyHint} />
        ) : (
          <Empty words={text.plans.filesMatch({ query: search.trim() })} />
        ))}
      {shown.length > 0 && (
        <ul className="stack">
          {shown.map((file) => (
            <FileRow key={file.file} file={file} />
          ))}
        </ul>
      )}
    </section>
  );
}

function CheckAgain({ files }: { files: Files }): ReactNode {
  const text = useText();
  return (
    <Button
      size="compact-sm"
      variant="default"
      title={text.plans.checkAgainHint}
      leftSection={<IconRefresh size={15} />}
      loading={files.isRefetching}
      onClick={() => void files.refetch()}
    >
      {text.plans.checkAgain}
    </Button>
  );
}

function FileRow({ file }: { file: PlanFile }): ReactNode {
  const text = useText();
  const mayRun = useMayRun();
  const isWhole = file.problems.length === 0;

  return (
    <li className="plan-file card stack" data-broken={!isWhole || undefined}>
      <div className="plan-file-head toolbar">
        <strong>{file.name}</strong>
        <code>{file.file}</code>
        {file.ports > 0 && (
          <span className="soft small">{text.plans.ports({ count: file.ports })}</span>
        )}
        <span className="plan-mark badge" data-tone={isWhole ? "good" : "bad"}>
          {isWhole ? (
            <IconCircleCheck size={14} stroke={2} aria-hidden />
          ) : (
            <IconAlertTriangle size={14} stroke={2} aria-hidden />
          )}
          {isWhole ? text.plans.noProblems : text.plans.problems({ count: file.problemCount })}
        </span>
        {isWhole && mayRun && (
          <Button
            renderRoot={(props) => (
              <Link to="/plans/start/$plan" params={{ plan: file.name }} {...props} />
            )}
            size="compact-sm"
            variant="light"
            leftSection={<IconPlayerPlay size={15} />}
            aria-label={text.plans.startOf({ plan: file.name })}
          >
            {text.plans.start}
          </Button>
        )}
        {!isWhole && <span className="soft small">{text.plans.mend}</span>}
      </div>
      {!isWhole && (
        <PlanProblems
          problems={file.problems}
          label={text.plans.problemList({ plan: file.name })}
        />
      )}
    </li>
  );
}

function Runs(): ReactNode {
  const text = useText();
  const { chosen: filters } = useAddress(readRunFilters);
  const [search, setSearch] = useState(filters.q ?? "");
  const runs = useRunList(filters.status);
  const [isCleaning, setCleaning] = useState(false);
  const all = runs.data?.pages.flatMap(({ items }) => items) ?? [];
  const wanted = lettersOf(search.trim());
  const shown = all.filter((run) => lettersOf(wordsOf(run)).includes(wanted));
  const isFiltered = filters.status !== undefined || wanted !== "";

  return (
    <section className="stack loose" aria-labelledby="plan-runs">
      <header className="toolbar between">
        <h2 id="plan-runs">{text.plans.runs}</h2>
        <RunFilters search={search} onSearch={setSearch}>
          {!isCleaning && all.some(hasFilesToClean) && (
            <CleanButton onClick={() => setCleaning(true)} />
          )}
        </RunFilters>
      </header>
      {isCleaning && <CleanRuns onLeave={() => setCleaning(false)} />}
      {runs.error !== null && <Problem error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.isSuccess && shown.length === 0 && <NoRuns isFiltered={isFiltered} />}
      {shown.length > 0 && (
        <ul className="stack" data-stale={runs.isPlaceholderData || undefined}>
          {shown.map((run) => (
            <RunRow key={run.id} run={run} />
          ))}
        </ul>
      )}
      <MoreRuns runs={runs} />
    </section>
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }): ReactNode {
  const words = useText().plans;
  return isFiltered ? (
    <Empty words={words.noMatch} hint={words.noMatchHint} />
  ) : (
    <Empty words={words.runsEmpty} hint={words.runsEmptyHint} />
  );
}

function MoreRuns({ runs }: { runs: ReturnType<typeof useRunList> }): ReactNode {
  const text = useText();
  if (!runs.hasNextPage) return null;

  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-sm"
      loading={runs.isFetchingNextPage}
      onClick={() => void runs.fetchNextPage()}
    >
      {text.plans.more}
    </Button>
  );
}

function hasFilesToClean({ status, cleanedAt }: ListedRun): boolean {
  return isRunOver(status) && cleanedAt === null;
}

function RunFilters({
  search,
  onSearch,
  children,
}: {
  search: string;
  onSearch: (search: string) => void;
  children: ReactNode;
}): ReactNode {
  const text = useText();
  const { chosen: filters, set } = useAddress(readRunFilters);

  const write = (q: string): void => {
    onSearch(q);
    set({ q });
  };

  const statuses = PLAN_RUN_STATUSES.map((one) => ({
    value: one,
    label: text.plans.runStatuses[one],
  }));

  return (
    <div className="plans-filters toolbar" role="search">
      <TextInput
        size="sm"
        value={search}
        onChange={({ currentTarget }) => write(currentTarget.value)}
        placeholder={text.plans.search}
        aria-label={text.plans.search}
        leftSection={<IconSearch size={15} />}
      />
      <NativeSelect
        size="sm"
        aria-label={text.plans.status}
        value={filters.status ?? ""}
        onChange={(event) => set({ status: event.currentTarget.value })}
        data={[{ value: "", label: text.plans.allStatuses }, ...statuses]}
      />
      {children}
    </div>
  );
}

function CleanButton({ onClick }: { onClick: () => void }): ReactNode {
  const words = useText().plans.clean;
  if (!useMayRun()) return null;

  return (
    <Button size="sm" variant="default" leftSection={<IconArchive size={15} />} onClick={onClick}>
      {words.old}…
    </Button>
  );
}

function RunRow({ run }: { run: ListedRun }): ReactNode {
  const { text, language } = useLanguage();
  const { done, all, failed } = doneOf(run);

  return (
    <li>
      <Link to="/plans/runs/$run" params={{ run: run.id }} className="run-row plain card stack">
        <span className="run-row-head toolbar">
          <strong>{run.plan}</strong>
          <RunMark status={run.status} phase={run.phase} />
        </span>
        <Bar
          share={all === 0 ? 0 : done / all}
          label={`${run.plan}: ${text.plans.progress}`}
          tone={failed > 0 && isRunOver(run.status) ? "warn" : "now"}
        />
        <span className="meta cluster baseline">
          <span>{text.plans.doneOf({ done, all })}</span>
          {failed > 0 && <span className="warn">{text.plans.failedCount({ count: failed })}</span>}
          {run.tokensIn + run.tokensOut > 0 && (
            <span>{text.plans.run.tokensShort({ count: run.tokensIn + run.tokensOut })}</span>
          )}
          {run.finishedAt !== null && (
            <span>{spanOf(run.finishedAt - run.createdAt, language)}</span>
          )}
          {run.cleanedAt !== null && (
            <span
              className="run-cleaned row tight inline"
              title={text.plans.clean.cleanedAt({ when: momentOf(run.cleanedAt, language) })}
            >
              <IconArchive size={13} aria-hidden />
              {text.plans.clean.cleaned}
            </span>
          )}
          {run.report?.branch !== undefined && <code>{run.report.branch}</code>}
          {run.delivery !== null && run.delivery !== "kept" && (
            <span>{text.plans.run.deliveries[run.delivery]}</span>
          )}
          <time
            className="end"
            dateTime={new Date(run.createdAt).toISOString()}
            title={momentOf(run.createdAt, language)}
          >
            {whenOf(run.createdAt, language)}
          </time>
        </span>
        {run.because !== null && run.status !== "success" && (
          <span className="clamp small soft">
            <BecauseLine because={run.because} />
          </span>
        )}
      </Link>
    </li>
  );
}

function Empty({ words, hint }: { words: string; hint?: string }): ReactNode {
  return (
    <div className="plans-empty empty">
      <IconSitemap size={30} stroke={1.4} aria-hidden />
      <p>{words}</p>
      {hint !== undefined && (
        <p className="soft small">
          <Prose text={hint} />
        </p>
      )}
    </div>
  );
}

function wordsOf({ id, plan, startedBy, baseCommit, report, because }: ListedRun): string {
  return [id, plan, startedBy, baseCommit, report?.branch, because?.code, because?.message].join(
    " ",
  );
}

// --- draft list

/** Drafts that are shown at once. */
const SHOWN = 10;

/** Plans that are made ready; nothing where there is none. */
function DraftList(): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const { language } = useLanguage();
  const drafts = useDrafts();
  if (drafts.error !== null) {
    return <Problem error={drafts.error} onRetry={() => void drafts.refetch()} />;
  }
  if (drafts.data === undefined || drafts.data.length === 0) return null;

  return (
    <section aria-label={words.list}>
      <h3>{words.list}</h3>
      <ul className="stack tight">
        {drafts.data.slice(0, SHOWN).map(({ id, goal, unanswered, updatedAt }) => (
          <li key={id}>
            <Link to="/plans/drafts/$draft" params={{ draft: id }}>
              {words.listOf({ goal: goal === "" ? words.untitled : goal, questions: unanswered })}
            </Link>{" "}
            <span className="soft small">{whenOf(updatedAt, language)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
