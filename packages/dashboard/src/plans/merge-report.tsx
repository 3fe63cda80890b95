import { IconCircleCheck, IconCircleX, IconCloudUpload } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type RunDetail, type RunReport, publishTarget, type PublishTarget } from "dure/client";
import { useId, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { BeforeLeaving } from "./before-leaving.tsx";
import { BecauseWords } from "./because-words.tsx";
import { DiffView } from "./diff-view.tsx";
import { keepLooks } from "./run-filters.ts";
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useParts } from "../app-parts.tsx";
import { Prose } from "../prose.tsx";
import { LeavingReview } from "./leaving-review.tsx";
import { useMayMerge, useReadRun } from "./use-plans.ts";

/** What came of a run: what is in the result, what is not and why, and how the whole tree did. */
export function MergeReport({ run, report }: { run: RunDetail; report: RunReport }): ReactNode {
  const words = useText().plans.run;
  const heading = useId();
  const titles = new Map(run.ports.map(({ id, title }) => [id, title]));
  const titleOf = (id: string): string => titles.get(id) ?? id;
  const { missing, conflicts, integration, shared = [] } = report;
  const parts = { run, titleOf };

  return (
    <section className="run-report card stack loose" aria-labelledby={heading}>
      <h2 id={heading}>{words.report}</h2>
      {integration !== undefined && <Integration integration={integration} titleOf={titleOf} />}
      <Kept {...parts} kept={report.kept} />
      {missing.length > 0 && <Missing {...parts} missing={missing} />}
      {shared.length > 0 && <SharedFiles shared={shared} titleOf={titleOf} />}
      {report.commit !== undefined && run.cleanedAt === null && <Changes run={run} />}
      {report.commit !== undefined && run.cleanedAt === null && <BeforeLeaving run={run} />}
      {report.commit !== undefined && <PublishResult run={run} report={report} />}
      {conflicts.length > 0 && <Conflicts conflicts={conflicts} titleOf={titleOf} />}
    </section>
  );
}

type TitleOf = (port: string) => string;

/** How the whole tree did after the merge. */
function Integration({
  integration: { passed, exitCode, blamed = [], output },
  titleOf,
}: {
  integration: NonNullable<RunReport["integration"]>;
  titleOf: TitleOf;
}): ReactNode {
  const words = useText().plans.run;
  const Icon = passed ? IconCircleCheck : IconCircleX;
  const verdict = passed
    ? words.integrationPassed
    : words.integrationFailed({ code: String(exitCode ?? words.noCode) });

  return (
    <div className="report-part stack tight">
      <p className="row verdict strong" data-tone={passed ? "good" : "bad"}>
        <Icon size={16} aria-hidden />
        <span>
          {words.integration}: {verdict}
        </span>
      </p>
      {blamed.length > 0 && (
        <p className="small">{words.blamed({ titles: blamed.map(titleOf).join(", ") })}</p>
      )}
      {output !== "" && (
        <details className="more" open={!passed}>
          <summary>{words.output}</summary>
          <pre tabIndex={0}>{output}</pre>
        </details>
      )}
    </div>
  );
}

function Kept({
  run,
  kept,
  titleOf,
}: {
  run: RunDetail;
  kept: RunReport["kept"];
  titleOf: TitleOf;
}): ReactNode {
  const words = useText().plans.run;
  return (
    <div className="report-part stack tight">
      <h3>{`${words.kept} (${kept.length})`}</h3>
      {kept.length === 0 ? (
        <p className="soft small">{words.keptNone}</p>
      ) : (
        <ul className="toolbar">
          {kept.map((id) => (
            <li key={id}>
              <PortLink run={run.id} port={id} title={titleOf(id)} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Missing({
  run,
  missing,
  titleOf,
}: {
  run: RunDetail;
  missing: RunReport["missing"];
  titleOf: TitleOf;
}): ReactNode {
  const words = useText().plans.run;
  return (
    <div className="report-part stack tight">
      <h3>{`${words.missing} (${missing.length})`}</h3>
      <ul className="report-missing stack tight">
        {missing.map(({ port, because }) => (
          <li key={port}>
            <PortLink run={run.id} port={port} title={titleOf(port)} />
            <span>
              <BecauseWords because={because} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function SharedFiles({
  shared,
  titleOf,
}: {
  shared: NonNullable<RunReport["shared"]>;
  titleOf: TitleOf;
}): ReactNode {
  const words = useText().plans.run;
  return (
    <div className="report-part stack tight">
      <h3>{`${words.shared} (${shared.length})`}</h3>
      <ul className="report-missing stack tight">
        {shared.map(({ path, ports, applied }) => (
          <li key={path}>
            <code>{path}</code>
            <span>
              {ports.map(titleOf).join(", ")} · {applied ? words.sharedApplied : words.sharedLeft}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Conflicts({
  conflicts,
  titleOf,
}: {
  conflicts: RunReport["conflicts"];
  titleOf: TitleOf;
}): ReactNode {
  const text = useText();
  const words = text.plans.run;

  const endOf = (solvedBy: string | undefined): string =>
    solvedBy === undefined
      ? words.unsolved
      : words.solvedBy({ who: text.plans.port.members[solvedBy] ?? solvedBy });

  return (
    <div className="report-part stack tight">
      <h3>{`${words.conflicts} (${conflicts.length})`}</h3>
      <ul className="report-missing stack tight">
        {conflicts.map(({ path, ports, solvedBy }) => (
          <li key={path}>
            <code>{path}</code>
            <span>
              {ports.map(titleOf).join(", ")} · {endOf(solvedBy)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function PortLink({ run, port, title }: { run: string; port: string; title: string }): ReactNode {
  return (
    <Link to="/plans/runs/$run/ports/$port" params={{ run, port }} search={keepLooks}>
      {title}
    </Link>
  );
}

/** Everything that the result changes, read when it is asked for. */
function Changes({ run }: { run: RunDetail }): ReactNode {
  const words = useText().plans.run;
  const [isOpen, setOpen] = useState(false);

  return (
    <details className="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.changes}</summary>
      {isOpen && <DiffView run={run} />}
    </details>
  );
}

// --- publish result

/** What was sent of a result, what sending it does, and the button that does it. */
function PublishResult({ run, report }: { run: RunDetail; report: RunReport }): ReactNode {
  const words = useText().plans.run;
  const mayMerge = useMayMerge();
  const { published } = report;
  const mayPublish = mayMerge && run.cleanedAt === null;
  if (published === undefined && !mayPublish) return null;

  const { plan: name, definition, ports } = run;
  const target = publishTarget({ ...definition, name, ports }, report.branch);

  return (
    <div className="report-part stack tight">
      <h3>{words.publish}</h3>
      {published !== undefined && (
        <p className="small">
          {words.published({
            branch: published.branch,
            remote: published.remote,
            commit: published.commit.slice(0, 10),
          })}{" "}
          <PullRequest url={published.pullRequest} />
        </p>
      )}
      {mayPublish && target !== undefined && (
        <Publish run={run} target={target} isAgain={published !== undefined} />
      )}
      {mayPublish && target === undefined && (
        <p className="soft small">
          <Prose text={words.publishHow} />
        </p>
      )}
    </div>
  );
}

/** Where the result goes, and the one press that sends it. */
function Publish({
  run,
  target,
  isAgain,
}: {
  run: RunDetail;
  target: PublishTarget;
  isAgain: boolean;
}): ReactNode {
  const words = useText().plans.run;
  const { client } = useParts();
  const readRun = useReadRun(run.id);
  const facts = useId();
  const publish = useMutation({
    mutationFn: (confirm: string | undefined) => client.plans.publish(run.id, { confirm }),
    onSettled: readRun,
  });
  const isPlain = target.pullRequest === "none";

  return (
    <>
      <Target id={facts} target={target} />
      <div className="toolbar">
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconCloudUpload size={15} />}
          aria-describedby={facts}
          loading={publish.isPending}
          onClick={() => publish.mutate(undefined)}
        >
          {isAgain ? words.publishAgain : isPlain ? words.publishDo : words.publishRequest}
        </Button>
      </div>
      <p className="soft small" role="status">
        {publish.isPending && words.publishing}
        {publish.isSuccess && (publish.data.isNew ? words.publishedNew : words.publishedBefore)}
      </p>
      {publish.error !== null && (
        <LeavingReview
          error={publish.error}
          isPending={publish.isPending}
          onConfirm={(confirm) => publish.mutate(confirm)}
        />
      )}
    </>
  );
}

function Target({ id, target }: { id: string; target: PublishTarget }): ReactNode {
  const words = useText().plans.run;
  const { remote, branch, base, title, pullRequest } = target;

  return (
    <dl id={id} className="terms">
      <div>
        <dt>{words.publishRemote}</dt>
        <dd>
          <code>{remote}</code>
        </dd>
      </div>
      <div>
        <dt>{words.branch}</dt>
        <dd>
          <code>{branch}</code>
        </dd>
      </div>
      <div>
        <dt>{words.pullRequest}</dt>
        <dd>
          {pullRequest === "none"
            ? words.noPullRequest
            : words.pullRequestOf({ title, base, tool: pullRequest })}
        </dd>
      </div>
    </dl>
  );
}

/** A program of the machine has said the address: only one of the web becomes a link. */
function PullRequest({ url }: { url: string | undefined }): ReactNode {
  if (url === undefined) return null;
  if (!/^https?:\/\//.test(url)) return <code>{url}</code>;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {url}
    </a>
  );
}
