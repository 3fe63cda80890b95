import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ulid, type Schedule, type ScheduleFiring } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useIsAdmin } from "../rooms/use-rooms.ts";
import { momentOf } from "../when.ts";

const KEY = ["schedules"] as const;
/** Moments are no events of the log; this often they are read again, milliseconds. */
const READ_EVERY_MS = 10_000;

/** Work that begins at a time; nothing where the team has none. */
export function ScheduleList(): ReactNode {
  const words = useText().jobs.schedules;
  const { client } = useParts();
  const schedules = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => client.schedules.list({ signal }),
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
  const nextWords = next === null ? words.never : words.next(momentOf(next, language));

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

type Order = "run" | "pause" | "resume";

function Orders({ schedule: { name, paused } }: { schedule: Schedule }): ReactNode {
  const words = useText().jobs.schedules;
  const { client } = useParts();
  const queries = useQueryClient();
  const order = useMutation<unknown, Error, Order>({
    mutationFn: (what) => {
      if (what === "run") return client.schedules.run(name, { idempotencyKey: ulid() });
      return client.schedules[what](name);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
  const give = (what: Order): ReactNode => (
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
