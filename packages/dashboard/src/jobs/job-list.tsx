import { Button, NativeSelect, TextInput } from "@mantine/core";
import { IconArrowsExchange, IconSearch, IconX } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { JOB_STATUSES, type Job, ulid, type Schedule, type ScheduleFiring } from "dure/client";
import { useEffect, useState, type ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { lettersOf } from "../rooms/mention.ts";
import { useAgents, useIsAdmin } from "../rooms/use-rooms.ts";
import { momentOf, whenOf } from "../when.ts";
import { Problem } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { AskJob } from "./ask-job.tsx";
import { excerptOf } from "./exchange.ts";
import { readJobFilters } from "./job-filters.ts";
import { StatusBadge } from "./status-badge.tsx";
import { useJobList } from "./use-jobs.ts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useParts } from "../app-parts.tsx";
import { useAsked } from "../asked.ts";
import { useAddress } from "../use-address.ts";

export function JobList({ picked }: { picked: string | undefined }): ReactNode {
  const text = useText();
  const { chosen: filters, set } = useAddress(readJobFilters);
  const { status, agent, root } = filters;
  const [search, setSearch] = useState(filters.q ?? "");
  const jobs = useJobList({ status, agent, root });

  const all = jobs.data?.pages.flatMap(({ items }) => items) ?? [];
  const wanted = lettersOf(search.trim());
  const shown = all.filter((job) => lettersOf(wordsOf(job)).includes(wanted));
  useSearchOn(jobs, wanted !== "" && shown.length < FOUND_LEAST);
  const Title = picked === undefined ? "h1" : "h2"; // a picked job has the page's first heading
  const isFiltered = [status, agent, root].some((one) => one !== undefined) || wanted !== "";

  return (
    <section className="jobs-list-side stack loose scroll" aria-label={text.jobs.pageTitle}>
      <header>
        <Title>{text.jobs.pageTitle}</Title>
        <p className="soft">{text.jobs.lead}</p>
      </header>
      <AskJob />
      <ScheduleList />
      <Filters search={search} onSearch={setSearch} />
      {root !== undefined && (
        <Button
          size="compact-sm"
          variant="light"
          color="gray"

          rightSection={<IconX size={13} aria-hidden />}
          onClick={() => set({ root: "" })}
        >
          {text.jobs.onlyWork}
        </Button>
      )}
      {jobs.error !== null && <Problem error={jobs.error} onRetry={() => void jobs.refetch()} />}
      {jobs.isSuccess && shown.length === 0 && !jobs.hasNextPage && (
        <Empty isFiltered={isFiltered} />
      )}
      {shown.length > 0 && (
        <ul className="stack" data-stale={jobs.isPlaceholderData || undefined}>
          {shown.map((job) => (
            <JobRow key={job.jobId} job={job} isPicked={job.jobId === picked} />
          ))}
        </ul>
      )}
      {jobs.hasNextPage && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          loading={jobs.isFetchingNextPage}
          onClick={() => void jobs.fetchNextPage()}
        >
          {text.jobs.more}
        </Button>
      )}
    </section>
  );
}

function Filters({
  search,
  onSearch,
}: {
  search: string;
  onSearch: (search: string) => void;
}): ReactNode {
  const words = useText().jobs;
  const { chosen: filters, set } = useAddress(readJobFilters);
  const agents = useAgents().data ?? [];

  const write = (q: string): void => {
    onSearch(q);
    set({ q });
  };

  return (
    <div className="jobs-filters halves" role="search">
      <TextInput
        value={search}
        onChange={({ currentTarget }) => write(currentTarget.value)}
        placeholder={words.search}
        aria-label={words.search}
        leftSection={<IconSearch size={15} />}
      />
      <NativeSelect
        aria-label={words.status}
        value={filters.status ?? ""}
        onChange={(event) => set({ status: event.currentTarget.value })}
        data={[
          { value: "", label: words.allStatuses },
          ...JOB_STATUSES.map((one) => ({ value: one, label: words.statuses[one] })),
        ]}
      />
      <NativeSelect
        aria-label={words.agent}
        value={filters.agent ?? ""}
        onChange={(event) => set({ agent: event.currentTarget.value })}
        data={[
          { value: "", label: words.allAgents },
          ...agents.map(({ id, displayName }) => ({ value: id, label: displayName })),
        ]}
      />
    </div>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }): ReactNode {
  const words = useText().jobs;
  return (
    <div className="empty">
      <IconArrowsExchange size={30} stroke={1.4} aria-hidden />
      <p>{isFiltered ? words.noMatch : words.empty}</p>
      <p className="soft small">
        <Prose text={isFiltered ? words.noMatchHint : words.emptyHint} />
      </p>
    </div>
  );
}

/**
 * A search looks on through older pages by itself until it has found so many, or has read so many
 * pages; from there on with the button.
 */
const FOUND_LEAST = 20;
const MAX_PAGES = 20;

function useSearchOn(
  { data, hasNextPage, isFetching, isError, fetchNextPage }: ReturnType<typeof useJobList>,
  looksOn: boolean,
): void {
  const goesOn =
    looksOn && hasNextPage && !isFetching && !isError && (data?.pages.length ?? 0) < MAX_PAGES;
  useEffect(() => {
    if (goesOn) void fetchNextPage();
  }, [goesOn, fetchNextPage]);
}

function JobRow({ job, isPicked }: { job: Job; isPicked: boolean }): ReactNode {
  const { text, language } = useLanguage();
  const { chosen: filters } = useAddress(readJobFilters);

  return (
    <li>
      <Link
        to="/jobs/$id"
        params={{ id: job.jobId }}
        search={filters}
        className="job-row plain card stack tight"
        data-picked={isPicked || undefined}
        aria-current={isPicked ? "page" : undefined}
      >
        <span className="row">
          <strong className="grow">
            {job.requesterName} → {job.targetName}
          </strong>
          <StatusBadge job={job} />
        </span>
        <span className="job-row-message clamp soft">
          {job.topic === null ? excerptOf(job.message) : `${job.topic}: ${excerptOf(job.message)}`}
        </span>
        <span className="meta cluster baseline">
          <span>{text.jobs.turnsOf({ done: job.turnsDone, most: job.maxTurns })}</span>
          {job.outcome !== null && <span>{text.jobs.outcomesShort[job.outcome]}</span>}
          <time
            className="end"
            dateTime={new Date(job.createdAt).toISOString()}
            title={momentOf(job.createdAt, language)}
          >
            {whenOf(job.createdAt, language)}
          </time>
        </span>
      </Link>
    </li>
  );
}

function wordsOf({
  jobId,
  requester,
  requesterName,
  target,
  targetName,
  message,
  topic,
  lastError,
}: Job): string {
  return [
    jobId,
    requester,
    requesterName,
    target,
    targetName,
    message,
    topic,
    lastError?.code,
    lastError?.message,
  ].join(" ");
}

// --- schedule list

const KEY = ["schedules"] as const;
/** Moments are no events of the log; this often they are read again, milliseconds. */
const READ_EVERY_MS = 10_000;

/** Work that begins at a time; nothing where the team has none. */
function ScheduleList(): ReactNode {
  const words = useText().jobs.schedules;
  const schedules = useAsked(KEY, (client, signal) => client.schedules.list({ signal }), {
    refetchInterval: (query) => (query.state.status === "error" ? false : READ_EVERY_MS),
  });
  const { error } = schedules;
  if (error !== null) return <Problem error={error} onRetry={() => void schedules.refetch()} />;
  if (schedules.data === undefined || schedules.data.length === 0) return null;

  return (
    <section className="schedules" aria-label={words.title}>
      <h2>{words.title}</h2>
      <ul>
        {schedules.data.map((schedule) => (
          <ScheduleRow key={schedule.name} schedule={schedule} />
        ))}
      </ul>
    </section>
  );
}

function ScheduleRow({ schedule }: { schedule: Schedule }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.jobs.schedules;
  const isAdmin = useIsAdmin();
  const { name, cron, timeZone, next, paused, last } = schedule;
  const nextWords = next === null ? words.never : words.next({ moment: momentOf(next, language) });

  return (
    <li className="card stack tight">
      <strong>{name}</strong>
      <span className="soft small">
        <code>{cron}</code> {timeZone}
      </span>
      <span className="small">{paused ? words.paused : nextWords}</span>
      {last[0] && <Last firing={last[0]} />}
      {isAdmin && <Orders schedule={schedule} />}
    </li>
  );
}

function Last({ firing }: { firing: ScheduleFiring }): ReactNode {
  const { text, language } = useLanguage();
  const { due, status, error, jobId } = firing;
  const words = text.jobs.schedules;
  const what = `${words.statuses[status]}${error === null ? "" : ` (${error})`}`;

  return (
    <span className="small" data-status={status}>
      {momentOf(due, language)}:{" "}
      {jobId === null ? (
        what
      ) : (
        <Link to="/jobs/$id" params={{ id: jobId }}>
          {what}
        </Link>
      )}
    </span>
  );
}

type ScheduleOrder = "run" | "pause" | "resume";

function Orders({ schedule: { name, paused } }: { schedule: Schedule }): ReactNode {
  const words = useText().jobs.schedules;
  const { client } = useParts();
  const queries = useQueryClient();
  const order = useMutation<unknown, Error, ScheduleOrder>({
    mutationFn: (what) => {
      if (what === "run") return client.schedules.run(name, { idempotencyKey: ulid() });
      return client.schedules[what](name);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  const give = (what: ScheduleOrder): ReactNode => (
    <Button
      size="compact-xs"
      variant="default"
      disabled={order.isPending}
      aria-label={`${words[what]}: ${name}`}
      onClick={() => order.mutate(what)}
    >
      {words[what]}
    </Button>
  );

  return (
    <span className="toolbar">
      {give("run")}
      {give(paused ? "resume" : "pause")}
      {order.error !== null && <Problem error={order.error} />}
    </span>
  );
}
