import { Button, TextInput } from "@mantine/core";
import {
  IconArchive,
  IconArrowBackUp,
  IconArrowLeft,
  IconCoins,
  IconGitMerge,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  type Icon as TablerIcon,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isRunOver, type MergeOutcome, type RunDetail, type RunOrdered } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { actorOf, isAtMachine } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { useLanguage, useText } from "../language.tsx";
import { momentOf, spanOf } from "../when.ts";
import { Prose } from "../prose.tsx";
import { Gate, useLeaving } from "./before-leaving.tsx";
import { LeavingReview } from "./leaving-review.tsx";
import { CleanRun } from "./clean-run.tsx";
import { BecauseWords } from "./because-words.tsx";
import { Bar, RunMark } from "./status-mark.tsx";
import { useServerNow } from "../server-clock.ts";
import { PLAN_KEYS, useMayMerge, useMayRun, useReadRun } from "./use-plans.ts";

export function RunHead({ run, isHeading }: { run: RunDetail; isHeading: boolean }): ReactNode {
  const text = useText();
  const done = run.ports.filter(({ status }) => status === "succeeded").length;
  const isHurt = run.ports.some(({ status }) => status === "failed" || status === "blocked");
  const Title = isHeading ? "h1" : "h2"; // a picked port has the page's first heading

  return (
    <header className="stack loose">
      <div className="run-head toolbar">
        <Link to="/plans" className="icon-link" aria-label={text.plans.run.toList}>
          <IconArrowLeft size={18} stroke={1.7} aria-hidden />
        </Link>
        <Title>{run.plan}</Title>
        <RunMark status={run.status} phase={run.phase} />
        <span className="soft small end">{text.plans.doneOf({ done, all: run.ports.length })}</span>
      </div>
      <Bar
        share={run.ports.length === 0 ? 0 : done / run.ports.length}
        label={text.plans.progress}
        tone={isHurt && isRunOver(run.status) ? "warn" : "now"}
      />
      {run.because !== null && (
        <p className="small note" data-tone={run.status === "failed" ? "bad" : "warn"}>
          <BecauseWords because={run.because} />
        </p>
      )}
      <Facts run={run} />
      <p className="small">
        <Link to="/traces/$id" params={{ id: run.id }}>
          {text.common.chain}
        </Link>
      </p>
      <Delivered run={run} />
      {run.cleanedAt !== null && <Cleaned run={run} at={run.cleanedAt} />}
      <Actions run={run} />
    </header>
  );
}

/** What became of the result, where it is not on its own branch alone. */
function Delivered({ run: { report, supersededBy } }: { run: RunDetail }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.run;
  const { merged, undone } = report ?? {};
  const said = ({ target, commit, at }: NonNullable<typeof undone>) => ({
    target,
    commit: commit.slice(0, 10),
    at: momentOf(at, language),
  });

  return (
    <>
      {merged && (
        <p className="small note good">
          {words.mergedAt(said(merged))} {merged.solved && words.solved(solvedOf(merged.solved))}
        </p>
      )}
      {undone && <p className="small note">{words.undoneAt(said(undone))}</p>}
      {supersededBy !== null && (
        <p className="small note">
          {words.supersededBy}{" "}
          <Link to="/plans/runs/$run" params={{ run: supersededBy }}>
            {supersededBy}
          </Link>
        </p>
      )}
    </>
  );
}

/** Of a cleaned run only its history is left; and its branch, if there was one. */
function Cleaned({ run, at }: { run: RunDetail; at: number }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.clean;
  const branch = run.report?.branch;

  return (
    <p className="run-cleaned-note small row top note" role="note">
      <IconArchive size={16} aria-hidden />
      <span>
        {words.cleanedAt({ when: momentOf(at, language) })}{" "}
        {branch === undefined ? words.historyOnly : words.historyAnd({ branch })}
      </span>
    </p>
  );
}

function Facts({ run }: { run: RunDetail }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.run;
  const now = useServerNow(!isRunOver(run.status));
  const used = run.tokensIn + run.tokensOut;
  const tokens = text.plans.port.tokensInOut({
    input: run.tokensIn,
    output: run.tokensOut,
    cached: run.tokensCached,
  });

  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      words.branch,
      run.report?.branch === undefined ? (
        words.noBranch
      ) : (
        <code key="branch">{run.report.branch}</code>
      ),
    ],
    [
      words.base,
      <code key="base">{`${run.definition.base} · ${run.baseCommit.slice(0, 10)}`}</code>,
    ],
    ...(run.isolation === null
      ? []
      : [[words.isolation, words.isolations[run.isolation] ?? run.isolation] as const]),
    ...(run.promises === null
      ? []
      : [
          [words.promises, words.promisesOf({ memory: null, cpu: null, ...run.promises })] as const,
        ]),
    ...(run.mode === null
      ? []
      : [[words.mode, text.plans.before.modes[run.mode.mode] ?? run.mode.mode] as const]),
    [
      words.took,
      spanOf((run.finishedAt ?? Math.max(now, run.createdAt)) - run.createdAt, language),
    ],
    [
      words.tokens,
      run.tokensMost === null
        ? tokens
        : `${words.tokensOf({ used, most: run.tokensMost })} · ${tokens}`,
    ],
    [
      words.calls,
      run.callsMost === null
        ? run.calls.toLocaleString(language)
        : words.tokensOf({ used: run.calls, most: run.callsMost }),
    ],
    [words.startedBy, actorOf(run.startedBy, { text, nameOf: (id) => id })],
    [words.at, momentOf(run.createdAt, language)],
  ];

  return (
    <dl className="terms">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Actions({ run }: { run: RunDetail }): ReactNode {
  const words = useText().plans.run;
  const { client } = useParts();
  const [mayRun, mayMerge] = [useMayRun(), useMayMerge()];
  const [open, setOpen] = useState<OpenForm>();

  const orders: Orders = {
    pause: useOrder(run.id, () => client.plans.pause(run.id)),
    resume: useOrder(run.id, () => client.plans.resume(run.id)),
    cancel: useOrder(run.id, () => client.plans.cancel(run.id)),
    again: useOrder(run.id, () => client.plans.again(run.id)),
  };

  const undo = useOrder(run.id, () => client.plans.undo(run.id));

  if (!mayRun && !mayMerge) {
    return (
      <p className="soft small">
        <Prose text={words.notYours} />
      </p>
    );
  }

  if (run.cleanedAt !== null) return null;

  const all = [...Object.values(orders), undo];
  const error = all.map((order) => order.error).find((one) => one !== null);
  const steering = [orders.pause, orders.resume, orders.cancel];
  const isStored = steering.some(({ data }) => data?.carriedOut === false);

  return (
    <div className="run-actions toolbar">
      {mayRun && <OrderButtons run={run} orders={orders} hasForm={open !== undefined} />}
      {mayMerge && run.delivery === "merged" && run.report?.merged && (
        <OrderButton
          order={undo}
          Icon={IconArrowBackUp}
          ask={words.undoAsk({ target: run.report.merged.target })}
        >
          {words.undo}
        </OrderButton>
      )}
      {open === undefined && <FormButtons run={run} may={{ mayRun, mayMerge }} onOpen={setOpen} />}
      {isStored && !isRunOver(run.status) && (
        <p className="soft small" role="status">
          {words.notYet}
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      <ActionForm run={run} open={open} onLeave={() => setOpen(undefined)} />
    </div>
  );
}

type OpenForm = "merge" | "extend" | "clean" | undefined;
type Orders = Readonly<
  Record<"pause" | "resume" | "cancel" | "again", ReturnType<typeof useOrder<RunOrdered>>>
>;

/** Orders that need no words: each where the run can take it. */
function OrderButtons({
  run: { status },
  orders: { pause, resume, cancel, again },
  hasForm,
}: {
  run: RunDetail;
  orders: Orders;
  hasForm: boolean;
}): ReactNode {
  const words = useText().plans.run;
  const canCancel = !isRunOver(status) && status !== "cancelling";
  const canMergeAgain = (status === "partial" || status === "failed") && !hasForm;

  return (
    <>
      {status === "running" && (
        <OrderButton order={pause} Icon={IconPlayerPause} title={words.pauseHint}>
          {words.pause}
        </OrderButton>
      )}
      {status === "paused" && (
        <OrderButton order={resume} Icon={IconPlayerPlay} isMain>
          {words.resume}
        </OrderButton>
      )}
      {canCancel && (
        <OrderButton order={cancel} Icon={IconPlayerStop} ask={words.cancelAsk}>
          {words.cancel}
        </OrderButton>
      )}
      {canMergeAgain && (
        <OrderButton order={again} Icon={IconRefresh} title={words.againHint}>
          {words.again}
        </OrderButton>
      )}
    </>
  );
}

function OrderButton({
  order,
  Icon,
  title,
  ask,
  isMain = false,
  children,
}: {
  order: { readonly isPending: boolean; readonly mutate: () => void };
  Icon: TablerIcon;
  title?: string;
  /** Asked before the order is given. */
  ask?: string;
  isMain?: boolean;
  children: string;
}): ReactNode {
  const give = (): void => {
    if (ask === undefined || window.confirm(ask)) order.mutate();
  };
  return (
    <Button
      size="compact-sm"
      variant={isMain ? "filled" : "default"}
      title={title}
      leftSection={<Icon size={15} />}
      loading={order.isPending}
      onClick={give}
    >
      {children}
    </Button>
  );
}

/** Orders that need words open a form. */
function FormButtons({
  run,
  may: { mayRun, mayMerge },
  onOpen,
}: {
  run: RunDetail;
  may: { readonly mayRun: boolean; readonly mayMerge: boolean };
  onOpen: (form: OpenForm) => void;
}): ReactNode {
  const text = useText();
  const isFailing = failsIntegration(run);
  return (
    <>
      {mayMerge && isMergeable(run) && (
        <Button
          size="compact-sm"
          variant={isFailing ? "default" : "filled"}
          leftSection={<IconGitMerge size={15} />}
          onClick={() => onOpen("merge")}
        >
          {isFailing ? text.plans.run.mergeFailing : text.plans.run.merge}
        </Button>
      )}
      {mayRun && canExtend(run) && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconCoins size={15} />}
          onClick={() => onOpen("extend")}
        >
          {text.plans.run.extend}…
        </Button>
      )}
      {mayRun && isRunOver(run.status) && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconArchive size={15} />}
          onClick={() => onOpen("clean")}
        >
          {text.plans.clean.one}…
        </Button>
      )}
    </>
  );
}

function ActionForm({
  run,
  open,
  onLeave,
}: {
  run: RunDetail;
  open: OpenForm;
  onLeave: () => void;
}): ReactNode {
  if (open === "merge") return <Merge run={run} onLeave={onLeave} />;
  if (open === "extend" && canExtend(run)) return <Extend run={run} onLeave={onLeave} />;
  if (open === "clean" && isRunOver(run.status)) return <CleanRun run={run} onLeave={onLeave} />;

  return null;
}

/** Whether there is a result that no branch has had yet. Pure. */
function isMergeable({ delivery }: RunDetail): boolean {
  return delivery !== null && delivery !== "merged" && delivery !== "undone";
}

/** Whether the whole tree of the result failed its tests. Pure. */
function failsIntegration({ report }: RunDetail): boolean {
  return report?.integration?.passed === false;
}

/** Whether more tokens or calls would let the run go on. Pure. */
function canExtend({ tokensMost, callsMost, status }: RunDetail): boolean {
  const isDone = status === "success" || status === "cancelled" || status === "cancelling";
  return (tokensMost !== null || callsMost !== null) && !isDone;
}

/** An order to a run; how the run stands is read anew whatever came of it. */
export function useOrder<Answer = RunOrdered>(run: string, order: () => Promise<Answer>) {
  const queries = useQueryClient();
  const readRun = useReadRun(run);
  return useMutation({
    mutationFn: order,
    onSettled: () =>
      Promise.all([
        readRun(),
        ...[PLAN_KEYS.lists, PLAN_KEYS.ports(run)].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      ]),
  });
}

function Merge({ run, onLeave }: { run: RunDetail; onLeave: () => void }): ReactNode {
  const text = useText();
  const words = text.plans.run;
  const { client } = useParts();
  const [into, setInto] = useState("");
  const [isTrying, setTrying] = useState(false);
  const readRun = useReadRun(run.id);
  const leaving = useLeaving(run);
  const gate = leaving.data?.gate;
  const merge = useMutation({
    mutationFn: (confirm: string | undefined) => {
      const branch = into.trim();
      const onTrying = (): void => setTrying(true);
      const request = { into: branch === "" ? undefined : branch, confirm };

      return client.plans.merge(run.id, request, { onTrying });
    },
    onSettled: () => {
      setTrying(false);
      return Promise.all([leaving.refetch(), readRun()]);
    },
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    merge.mutate(undefined);
  };

  if (merge.data !== undefined) return <Merged outcome={merge.data} />;

  return (
    <form className="run-merge card stack" onSubmit={submit}>
      <TextInput
        autoFocus
        size="sm"
        label={words.mergeInto}
        description={words.mergeHint}
        placeholder={run.definition.base}
        value={into}
        onChange={(event) => setInto(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && onLeave()}
      />
      {gate !== undefined && gate.needed > 0 && <Gate run={run} gate={gate} />}
      <MergeButtons run={run} isPending={merge.isPending} onLeave={onLeave} />
      {isTrying && <p role="status">{words.mergeTrying}</p>}
      {merge.error !== null && (
        <LeavingReview
          error={merge.error}
          isPending={merge.isPending}
          onConfirm={(confirm) => merge.mutate(confirm)}
        />
      )}
    </form>
  );
}

/** A result that failed its tests is merged too, by no main button. */
function MergeButtons({
  run,
  isPending,
  onLeave,
}: {
  run: RunDetail;
  isPending: boolean;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.run;
  const isFailing = failsIntegration(run);

  return (
    <>
      {isFailing && (
        <p className="small note" data-tone="bad">
          {words.mergeFailingHint}
        </p>
      )}
      <div className="toolbar">
        <Button
          type="submit"
          size="compact-sm"
          variant={isFailing ? "default" : "filled"}
          loading={isPending}
        >
          {words.mergeDo}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.mergeBack}
        </Button>
      </div>
    </>
  );
}

function Merged({ outcome }: { outcome: MergeOutcome }): ReactNode {
  const words = useText().plans.run;
  const { kind, target, commit, updated, solved } = outcome;

  return (
    <p className="run-merged row top note good" role="status">
      <IconGitMerge size={16} aria-hidden />
      <span>
        {words.mergedInto({
          what: words.merged[kind] ?? kind,
          target,
          commit: commit.slice(0, 10),
        })}{" "}
        {updated !== null && words.mergedFiles({ folder: updated })}{" "}
        {solved && words.solved(solvedOf(solved))}
      </span>
    </p>
  );
}

/** Most tokens that are added at once. Source: the server's own bound. */
export const MAX_TOKENS = 1_000_000_000;

/** The same of calls. */
const MAX_CALLS = 10_000_000;

/** Undefined: nothing is written. Pure. */
function countIn(written: string, most: number): number | "wrong" | undefined {
  if (written.trim() === "") return undefined;
  const count = Number(written);

  return Number.isInteger(count) && count >= 1 && count <= most ? count : "wrong";
}

/** More for the whole run; ports that had stopped for want of it go on. */
function Extend({ run, onLeave }: { run: RunDetail; onLeave: () => void }): ReactNode {
  const words = useText().plans.run;
  const { client } = useParts();
  const [written, setWritten] = useState({ tokens: "", calls: "" });
  const tokens = countIn(written.tokens, MAX_TOKENS);
  const calls = countIn(written.calls, MAX_CALLS);
  const isReady = tokens !== "wrong" && calls !== "wrong" && (tokens ?? calls) !== undefined;
  const extend = useOrder(run.id, () =>
    client.plans.extend(run.id, isReady ? { tokens, calls } : {}),
  );

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) extend.mutate(undefined, { onSuccess: onLeave });
  };

  return (
    <form className="run-merge card stack" onSubmit={submit}>
      <TextInput
        autoFocus
        size="sm"
        type="number"
        min={1}
        max={MAX_TOKENS}
        label={words.extendTokens}
        description={words.extendHint}
        value={written.tokens}
        onChange={(event) => setWritten({ ...written, tokens: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Escape" && onLeave()}
      />
      {run.callsMost !== null && (
        <TextInput
          size="sm"
          type="number"
          min={1}
          max={MAX_CALLS}
          label={words.extendCalls}
          value={written.calls}
          onChange={(event) => setWritten({ ...written, calls: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Escape" && onLeave()}
        />
      )}
      <div className="toolbar">
        <Button type="submit" size="compact-sm" disabled={!isReady} loading={extend.isPending}>
          {words.extendDo}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.mergeBack}
        </Button>
      </div>
      {extend.error !== null && <Problem error={extend.error} />}
    </form>
  );
}

/** Who wrote files once that both sides had changed, as words need it. */
function solvedOf({ by, files }: { readonly by: string; readonly files: readonly string[] }): {
  by: string;
  files: string;
} {
  return { by: isAtMachine(by) ? "machine" : by, files: files.join(", ") };
}
