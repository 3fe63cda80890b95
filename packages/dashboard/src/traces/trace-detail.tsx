import { Button, Loader } from "@mantine/core";
import { IconArrowRight, IconRepeat } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { WorkTrace, WorkTraceNode, WorkTraceTexts } from "dure/client";
import { type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useAsked } from "../asked.ts";
import { moneyOf } from "../costs/sums.ts";
import { useLanguage, useWords } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { meOf } from "../shell/me.ts";
import { useServerKorean } from "../use-server-korean.ts";
import { clockOf, spanOf } from "../when.ts";
import { TRACES_WORDS } from "words:later/traces";
import { kindOf, statusOf, toneOf, TONE_ICONS } from "./trace-look.ts";
import { useRowTitle } from "./row-title.ts";
import { sumOf, type TraceRow } from "./trace-rows.ts";

/** All that is known of one row: its numbers, what went in, and what came out. */
export function TraceDetail({ row, trace }: { row: TraceRow; trace: WorkTrace }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const titleOf = useRowTitle();
  const status = statusOf(row);
  const tone = toneOf(status);
  const ToneIcon = TONE_ICONS[tone];

  return (
    <section className="flow-detail scroll stack loose" aria-label={words.detail} tabIndex={0}>
      <header className="stack tight">
        <p className="cluster" data-tone={tone}>
          <span className="soft small">{words.kinds[kindOf(row)]}</span>
          <span className="badge">
            <ToneIcon size={12} stroke={2.4} aria-hidden /> {words.statuses[status] ?? status}
          </span>
        </p>
        <h2>{titleOf(row)}</h2>
      </header>
      <Numbers row={row} trace={trace} />
      <Deeds row={row} />
      <Texts row={row} />
    </section>
  );
}

function Numbers({ row, trace }: { row: TraceRow; trace: WorkTrace }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const { node, step } = row;
  const count = (value: number): string => value.toLocaleString(language);
  const ofTurn = sumOf(trace.steps.filter(({ turn }) => turn === node?.id));
  const microUsd = step ? step.microUsd : ofTurn.microUsd;
  const tokens = node?.tokens ?? null;
  const facts: readonly (readonly [string, string] | false)[] = [
    [words.facts.began, `${clockOf(row.at)} (+${spanOf(row.afterMs, language)})`],
    kindOf(row) !== "message" && [words.facts.took, spanOf(row.spanMs, language)],
    step?.kind === "model" && [words.facts.agent, step.title],
    step?.attempt != null && [words.facts.attempt, count(step.attempt)],
    step?.firstTokenMs != null && [words.facts.first, spanOf(step.firstTokenMs, language)],
    step?.tokensIn != null && [
      words.facts.in,
      step.cachedIn === null
        ? count(step.tokensIn)
        : words.cached({ count: count(step.tokensIn), cached: count(step.cachedIn) }),
    ],
    step?.tokensOut != null && [words.facts.out, count(step.tokensOut)],
    tokens !== null && [words.facts.tokens, count(tokens)],
    (step?.kind === "model" || node?.kind === "turn") && [
      words.facts.cost,
      microUsd === null ? words.noPrice : moneyOf(microUsd, language),
    ],
    step?.error != null && [words.facts.error, step.error],
  ];

  return (
    <dl className="facts pairs">
      {facts
        .filter((fact) => fact !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt className="soft">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Where it can be read, and how it can be run again. */
function Deeds({ row }: { row: TraceRow }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const isAdmin = useIsAdmin();
  const { node, step } = row;
  const turn = step?.turn ?? (node?.kind === "turn" ? node.id : undefined);
  const isOver = row.endedAt !== null && statusOf(row) !== "running";
  const from = step?.kind === "model" && !step.place.startsWith("call.") ? step.place : undefined;
  const canRerun = isAdmin && isOver && turn !== undefined && (node !== undefined || from);

  return (
    <div className="toolbar">
      {node && <ToPlace node={node} label={words.openPage} />}
      {canRerun !== undefined && canRerun !== false && (
        <Button
          component={Link}
          to="/replay/$turn"
          params={{ turn } as never}
          search={{ from } as never}
          variant="default"
          leftSection={<IconRepeat size={15} aria-hidden />}
        >
          {words.rerun}
        </Button>
      )}
    </div>
  );
}

function useIsAdmin(): boolean {
  const { client } = useParts();
  return useQuery(meOf(client)).data?.scopes.includes("admin") ?? false;
}

function Texts({ row }: { row: TraceRow }): ReactNode {
  const { node, step, endedAt } = row;
  const words = useWords(TRACES_WORDS);
  const { who } = useSpeaker();
  const isAdmin = useIsAdmin();
  const id = node?.id ?? step!.turn;
  const has = step ? step.kind !== "wait" : node.kind !== "port" && node.kind !== "run";
  const texts = useAsked(
    ["trace-texts", row.key, endedAt],
    (client, signal) => client.traceTexts(id, { at: step?.place, asPerson: who, signal }),
    { enabled: has && (isAdmin || !step) },
  );
  if (!has) return null;
  if (step && !isAdmin) return <p className="soft small">{words.adminsOnly}</p>;
  if (texts.error !== null) {
    return <Problem error={texts.error} onRetry={() => void texts.refetch()} />;
  }
  if (texts.data === undefined) {
    return <Loader type="dots" role="status" aria-label={words.loading} />;
  }
  const { args, result, prompt, noPrompt } = texts.data;

  return (
    <>
      {prompt && <Prompt prompt={prompt} />}
      {noPrompt !== null && <NoPrompt code={noPrompt} />}
      <Block title={words.input} value={args} />
      <Block title={words.output} value={result} />
    </>
  );
}

function NoPrompt({ code }: { code: string }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const korean = useServerKorean();
  return (
    <p className="note small">
      {words.noPrompt} {korean.refusal({ code, message: "" }) ?? ""} <code>{code}</code>
    </p>
  );
}

type ShownPrompt = NonNullable<WorkTraceTexts["prompt"]>;
const PARTS = ["history", "context", "message", "work"] as const;

/** The request to a model by its parts. */
function Prompt({ prompt }: { prompt: ShownPrompt }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { system, messages, tools, isAsSent } = prompt;

  return (
    <section className="stack tight">
      <h3>{words.prompt}</h3>
      <p className="soft small">{isAsSent ? words.asSent : words.notAsSent}</p>
      {system !== "" && <Part title={words.parts.system} text={system} />}
      {PARTS.map((part) => {
        const some = messages.filter((one) => one.part === part);
        const text = some.map(({ data }) => spoken(data)).join("\n\n");
        return (
          some.length > 0 && (
            <Part
              key={part}
              title={`${words.parts[part]} (${some.length})`}
              text={text}
              isOpen={part === "message"}
            />
          )
        );
      })}
      {tools.length > 0 && (
        <Part title={`${words.parts.tools} (${tools.length})`} text={tools.join(", ")} />
      )}
    </section>
  );
}

function Part(props: { title: string; text: string; isOpen?: boolean }): ReactNode {
  return (
    <details className="more" open={props.isOpen}>
      <summary>{props.title}</summary>
      <pre className="verbatim" tabIndex={0}>
        {props.text}
      </pre>
    </details>
  );
}

/** A message of a request as a person reads it. Pure. */
function spoken(data: unknown): string {
  const { role, text, toolCalls, name, result } = data as {
    readonly role: string;
    readonly text?: string;
    readonly toolCalls?: readonly { readonly name: string; readonly args: unknown }[];
    readonly name?: string;
    readonly result?: unknown;
  };
  const calls = (toolCalls ?? []).map((call) => `→ ${call.name}(${JSON.stringify(call.args)})`);
  const said = role === "tool" ? `← ${name ?? ""}: ${textOf(result)}` : `${role}: ${text ?? ""}`;
  return [said, ...calls].filter(Boolean).join("\n");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function Block({ title, value }: { title: string; value: unknown }): ReactNode {
  if (value === null || value === undefined || value === "") return null;
  return (
    <section className="stack tight">
      <h3>{title}</h3>
      <pre className="verbatim" tabIndex={0}>
        {textOf(value)}
      </pre>
    </section>
  );
}

// --- to place

const ROOM = /^room:[^:]+:(.+?)(?:@@[0-9a-f]{16})?$/;
const JOB = /^job:(job_[0-9A-Z]{26}):/;

type ThingPage = { readonly to: string; readonly params?: Readonly<Record<string, string>> };

/** Where a thing of the chain can be read. Pure. */
function pageOf({ kind, id, session, place }: WorkTraceNode): ThingPage {
  if (kind === "escalation") return { to: "/escalations" };
  if (kind === "job") return { to: "/jobs/$id", params: { id } };
  if (kind === "run") return { to: "/plans/runs/$run", params: { run: id } };
  if (kind === "port") {
    const [run = "", port = ""] = id.split("/");
    return { to: "/plans/runs/$run/ports/$port", params: { run, port } };
  }
  if (kind !== "turn") return { to: "/rooms/$place", params: { place: place ?? "" } };
  const [, room] = ROOM.exec(session ?? "") ?? [];
  if (room !== undefined) return { to: "/rooms/$place", params: { place: room } };
  const [, job] = JOB.exec(session ?? "") ?? [];
  if (job !== undefined) return { to: "/jobs/$id", params: { id: job } };
  if (session?.startsWith("escalation:") === true) return { to: "/escalations" };
  return { to: "/chat/$session", params: { session: session ?? "" } };
}

function ToPlace({ node, label }: { node: WorkTraceNode; label: string }): ReactNode {
  const { to, params } = pageOf(node);
  return (
    <Button
      component={Link}
      to={to}
      params={params as never}
      variant="default"
      rightSection={<IconArrowRight size={15} aria-hidden />}
    >
      {label}
    </Button>
  );
}
