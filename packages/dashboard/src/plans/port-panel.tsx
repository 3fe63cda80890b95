import { Loader, Tabs, NativeSelect } from "@mantine/core";
import { IconAlertTriangle, IconArrowLeft, IconX } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import {
  DureError,
  type PortDetail,
  type RunDetail,
  type ContextManifest,
  type PlanStep,
} from "dure/client";
import { type ReactNode, useState } from "react";
import { Markdown } from "../chat/markdown.tsx";
import { Problem } from "../problem.tsx";
import { useLanguage, useText } from "../language.tsx";
import type { Text } from "../language.tsx";
import { roundSpanOf, spanOf } from "../when.ts";
import { BecauseWords } from "./because-words.tsx";
import { DiffView } from "./diff-view.tsx";
import { PairChannel } from "./pair-channel.tsx";
import { PortActions } from "./port-actions.tsx";
import { Waiting } from "./port-state.tsx";
import { keepLooks, PORT_TABS, readRunLooks, type PortTab } from "./run-filters.ts";
import { RunEscalations } from "./run-escalations.tsx";
import { ScopeView } from "./scope-view.tsx";
import { signOf, stalledFor, tryOf, waitsOf, younger, type Sign, type StalledOn } from "./signs.ts";
import { Bar, PortMark } from "./status-mark.tsx";
import { TranscriptView } from "./transcript-view.tsx";
import { Tries } from "./tries.tsx";
import { useServerNow } from "../server-clock.ts";
import { usePort, useManifest } from "./use-plans.ts";
import { ServerWords } from "../coded.tsx";
import { useAddress } from "../use-address.ts";

/** One port: what it is to do, what it does now, and all that was tried. */
export function PortPanel({
  run,
  port: id,
  sign,
}: {
  run: RunDetail;
  port: string;
  sign: Sign | undefined;
}): ReactNode {
  const text = useText();
  const port = usePort(run.id, id);
  if (port.data !== undefined) return <OnePort run={run} port={port.data} sign={sign} />;

  const isGone = port.error instanceof DureError && port.error.class === "not-found";

  return (
    <div className="port-panel stack">
      <PanelHead
        run={run.id}
        title={
          run.ports.find((one) => one.id === id)?.title ?? (isGone ? text.plans.port.gone : id)
        }
      />
      {port.error === null ? (
        <Loader type="dots" role="status" aria-label={text.plans.port.loading} />
      ) : (
        <Problem error={port.error} onRetry={() => void port.refetch()} />
      )}
    </div>
  );
}

function PanelHead({
  run,
  title,
  children,
}: {
  run: string;
  title: string;
  children?: ReactNode;
}): ReactNode {
  const text = useText();
  return (
    <header className="port-head toolbar">
      <Link
        to="/plans/runs/$run"
        params={{ run }}
        search={keepLooks}
        className="port-close icon-link"
        aria-label={text.plans.port.close}
      >
        <IconArrowLeft size={18} stroke={1.7} aria-hidden className="port-close-back" />
        <IconX size={18} stroke={1.7} aria-hidden className="port-close-x" />
      </Link>
      <h1>{title}</h1>
      {children}
    </header>
  );
}

function OnePort({
  run,
  port,
  sign,
}: {
  run: RunDetail;
  port: PortDetail;
  sign: Sign | undefined;
}): ReactNode {
  const text = useText();
  const words = text.plans.port;
  const { chosen: looks, set } = useAddress(readRunLooks);
  const newest = younger(sign, signOf(port.steps));
  const tab = looks.tab ?? "tries";

  return (
    <div className="port-panel stack">
      <PanelHead run={run.id} title={port.title}>
        <PortMark status={port.status} />
      </PanelHead>
      <div className="port-goal">
        <Markdown>{port.goal}</Markdown>
      </div>
      {port.because !== null && (
        <p className="small note" data-tone={port.status === "failed" ? "bad" : "warn"}>
          <BecauseWords because={port.because} />
        </p>
      )}
      {port.status === "running" && <Now port={port} sign={newest} />}
      <PortFacts port={port} sign={newest} />
      <PortActions run={run} port={port} />
      <RunEscalations run={run} port={port.id} />
      <Tabs
        value={tab}
        onChange={(next) => set({ tab: next ?? "tries" })}
        keepMounted={false}
        className="port-tabs"
      >
        <Tabs.List>
          {PORT_TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {words.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Part tab={tab} run={run} port={port} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function Part({ tab, run, port }: { tab: PortTab; run: RunDetail; port: PortDetail }): ReactNode {
  switch (tab) {
    case "tries":
      return <Tries port={port} />;
    case "channel":
      return <PairChannel port={port} />;
    case "transcript":
      return (
        <TranscriptView
          key={port.id}
          run={run}
          port={port}
          isWorkedOn={port.status === "running"}
        />
      );
    case "scope":
      return <ScopeView run={run} port={port} />;
    case "context":
      return <ManifestView run={run.id} port={port} />;
    case "diff":
      return run.cleanedAt === null ? (
        <DiffView key={port.id} run={run} port={port} />
      ) : (
        <DiffGone />
      );
  }
}

/** Changes are read from files that are gone. */
function DiffGone(): ReactNode {
  const words = useText().plans.clean;
  return (
    <div className="port-part stack loose">
      <p>{words.noDiff}</p>
    </div>
  );
}

/** What a worker does now, how far it is, and when it last said so. */
function Now({ port, sign }: { port: PortDetail; sign: Sign | undefined }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const now = useServerNow(true);
  const silent = stalledFor(port, sign, now);
  const waits = waitsOf(port, sign);
  const { number, most } = tryOf(port, sign);

  const who = whoOf(sign, words);

  return (
    <section
      className="port-now stack note good"
      aria-label={words.now}
      data-stalled={silent !== undefined || undefined}
    >
      <p className="cluster">
        <span className="pulse" aria-hidden />
        <strong>{who === "" ? words.now : who}</strong>
        {number > 0 && <span className="soft">{text.plans.run.tryOf({ number, most })}</span>}
        {sign !== undefined && sign.member !== null && (
          <span className="soft end">
            {words.lastSign({ when: roundSpanOf(now - sign.at, language) })}
          </span>
        )}
      </p>
      <p>{sign === undefined || sign.task === "" ? words.noTask : sign.task}</p>
      {sign !== undefined && sign.member !== null && (
        <Bar share={sign.progress} label={`${words.now}: ${text.plans.progress}`} />
      )}
      {waits !== undefined && <Waiting waits={waits} />}
      {silent !== undefined && <Silent ms={silent} on={sign?.stalledOn} />}
    </section>
  );
}

/** Who works, and at what; empty where neither is known. Pure. */
function whoOf(sign: Sign | undefined, words: Text["plans"]["port"]): string {
  const member = sign?.member == null ? undefined : words.members[sign.member];
  const kind = sign?.kind === undefined ? undefined : words.steps[sign.kind];
  return [member, kind].filter(Boolean).join(" · ");
}

/** That its worker says nothing, to the ten seconds: it is read aloud. */
function Silent({ ms, on = "nothing" }: { ms: number; on?: StalledOn | undefined }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  return (
    <p className="row tight inline strong warn" role="status">
      <IconAlertTriangle size={15} aria-hidden />
      {words.stalled({ when: roundSpanOf(Math.floor(ms / 10_000) * 10_000, language) })}{" "}
      {words.stalledOn[on]}
    </p>
  );
}

function PortFacts({ port, sign }: { port: PortDetail; sign: Sign | undefined }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const { number, most } = tryOf(port, sign);
  const used = port.tokensIn + port.tokensOut;
  const tokens = words.tokensInOut({
    input: port.tokensIn,
    output: port.tokensOut,
    cached: port.tokensCached,
  });

  const rows: readonly (readonly [string, ReactNode])[] = [
    [words.role, port.role],
    [
      words.tabs.tries,
      number === 0 ? text.plans.run.triesMost({ most }) : text.plans.run.tryOf({ number, most }),
    ],
    [
      words.time,
      words.timeOf({ spent: spanOf(port.spentMs, language), most: spanOf(port.timeMs, language) }),
    ],
    [
      words.tokens,
      port.tokensMost === null
        ? tokens
        : `${text.plans.run.tokensOf({ used, most: port.tokensMost })} · ${tokens}`,
    ],
    ...(port.unproven ? [[words.proof, words.unproven] as const] : []),
    ...(port.hint === null ? [] : [[words.hint, port.hint] as const]),
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

// --- manifest view

/** What a worker was given to know, in its parts, against what everything would have cost. */
function ManifestView({ run, port }: { run: string; port: PortDetail }): ReactNode {
  const text = useText();
  const words = text.plans.port;
  const steps = port.steps
    .filter(({ member }) => member !== null)
    .toSorted((a, b) => b.startedAt - a.startedAt);
  const [picked, setPicked] = useState<number>();
  const step = steps.find(({ id }) => id === picked) ?? steps[0];
  const manifest = useManifest(run, port.id, step?.id);
  if (step === undefined) return <p className="soft port-part stack loose">{words.noManifest}</p>;

  const nameOf = ({ try: number, kind, member }: PlanStep): string =>
    [words.tryTitle({ number }), words.steps[kind], words.members[member ?? ""]].join(" · ");

  return (
    <div className="port-part stack loose">
      {steps.length > 1 && (
        <NativeSelect
          size="sm"
          label={words.manifestOf}
          value={String(step.id)}
          onChange={(event) => setPicked(Number(event.currentTarget.value))}
          data={steps.map((one) => ({ value: String(one.id), label: nameOf(one) }))}
        />
      )}
      {manifest.isPending && <Loader type="dots" role="status" aria-label={text.plans.loading} />}
      {manifest.error !== null && (
        <Problem error={manifest.error} onRetry={() => void manifest.refetch()} />
      )}
      {manifest.data !== undefined && <Manifest manifest={manifest.data} />}
    </div>
  );
}

function Manifest({ manifest }: { manifest: ContextManifest }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const { blocks, total, fullContext, saved } = manifest;
  const given = fullContext === 0 ? 100 : Math.min(100, Math.round((total / fullContext) * 100));

  return (
    <>
      <div className="stack">
        <p>
          <strong>{words.saved({ percent: Math.round(saved * 100) })}</strong>
        </p>
        <div className="track" role="img" aria-label={words.context({ total, full: fullContext })}>
          <span style={{ inlineSize: `${given}%` }} />
        </div>
        <p className="soft small">{words.context({ total, full: fullContext })}</p>
      </div>
      <div className="table-room" tabIndex={0} role="group" aria-label={words.tabs.context}>
        <table className="mode-table small">
          <thead>
            <tr>
              <th scope="col">{words.block}</th>
              <th scope="col" className="number">
                {words.tokens}
              </th>
            </tr>
          </thead>
          <tbody>
            {blocks.map((block, index) => (
              <tr key={index}>
                <th scope="row">
                  {words.blocks[block.code ?? block.name] ?? (
                    <ServerWords>{block.name}</ServerWords>
                  )}
                  {block.path !== undefined && (
                    <>
                      {" "}
                      <code>{block.path}</code>
                    </>
                  )}
                  {"form" in block && typeof block.form === "string" && (
                    <span className="soft"> {words.forms[block.form] ?? block.form}</span>
                  )}
                </th>
                <td className="number">{block.tokens.toLocaleString(language)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
