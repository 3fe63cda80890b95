import { Button } from "@mantine/core";
import { IconCloudUpload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { publishTarget, type PublishTarget, type RunDetail, type RunReport } from "dure/client";
import { useId, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Prose } from "../prose.tsx";
import { LeavingReview } from "./leaving-review.tsx";
import { useMayMerge, useReadRun } from "./use-plans.ts";

/** What was sent of a result, what sending it does, and the button that does it. */
export function PublishResult({ run, report }: { run: RunDetail; report: RunReport }): ReactNode {
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
          {words.published(published.branch, published.remote, published.commit.slice(0, 10))}{" "}
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
            : words.pullRequestOf(title, base, pullRequest)}
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
