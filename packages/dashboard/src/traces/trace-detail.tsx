import { Button, Loader } from "@mantine/core";
import { IconArrowRight, IconRepeat } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { WorkTrace, WorkTraceNode, WorkTraceStep, WorkTraceTexts } from "dure/client";
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
import { TRACES_WORDS, type TracesWords } from "words:later/traces";
import type { Language } from "../words.ts";
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
  const facts: readonly (readonly [string, string] | false)[] = [
    [words.facts.began, `${clockOf(row.at)} (+${spanOf(row.afterMs, language)})`],
    kindOf(row) !== "message" && [words.facts.took, spanOf(row.spanMs, language)],
    ...(step ? factsOfStep(step, { words, language }) : []),
    typeof node?.tokens === "number" && [words.facts.tokens, node.tokens.toLocaleString(language)],
    node?.kind === "turn" && [
      words.facts.cost,
      costOf(sumOf(trace.steps.filter(({ turn }) => turn === node.id)).microUsd, {
        words,
        language,
      }),
    ],
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

interface FactWords {
  readonly words: TracesWords;
  readonly language: Language;
}

function costOf(microUsd: number | null, { words, language }: FactWords): string {
  return microUsd === null ? words.noPrice : moneyOf(microUsd, language);
}

/** What is known of a call of a model; of another step its error. Pure. */
function factsOfStep(
  step: WorkTraceStep,
  speaking: FactWords,
): readonly (readonly [string, string] | false)[] {
  const { words, language } = speaking;
  const { attempt, firstTokenMs, tokensIn, tokensOut, cachedIn, error } = step;
  const count = (value: number): string => value.toLocaleString(language);
  const taken = (tokens: number): string =>
    cachedIn === null
      ? count(tokens)
      : words.cached({ count: count(tokens), cached: count(cachedIn) });
  const failed = error !== null && ([words.facts.error, error] as const);
  if (step.kind !== "model") return [failed];

  return [
    [words.facts.agent, step.title],
    attempt !== null && [words.facts.attempt, count(attempt)],
    firstTokenMs !== null && [words.facts.first, spanOf(firstTokenMs, language)],
    tokensIn !== null && [words.facts.in, taken(tokensIn)],
    tokensOut !== null && [words.facts.out, count(tokensOut)],
    [words.facts.cost, costOf(step.microUsd, speaking)],
    failed,
  ];
}

/** Where it can be read, and how it can be run again. */
function Deeds({ row }: { row: TraceRow }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const isAdmin = useIsAdmin();
  const again = rerunOf(row);

  return (
    <div className="toolbar">
      {row.node && <ToPlace node={row.node} label={words.openPage} />}
      {isAdmin && again && (
        <Button
          component={Link}
          to="/replay/$turn"
          params={{ turn: again.turn } as never}
          search={{ from: again.from } as never}
          variant="default"
          leftSection={<IconRepeat size={15} aria-hidden />}
        >
          {words.rerun}
        </Button>
      )}
    </div>
  );
}

/** A turn that has ended can be run again, whole or from a call of a model. Pure. */
function rerunOf(row: TraceRow): { readonly turn: string; readonly from?: string } | undefined {
  const { node, step, endedAt } = row;
  if (endedAt === null) return undefined;
  if (node) return node.kind === "turn" ? { turn: node.id } : undefined;
  const isPlaced = step.kind === "model" && !step.place.startsWith("call.");
  return isPlaced ? { turn: step.turn, from: step.place } : undefined;
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
    (client, signal) => client.traces.texts(id, { at: step?.place, asPerson: who, signal }),
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
const PAGES: Readonly<Record<WorkTraceNode["kind"], (node: WorkTraceNode) => ThingPage>> = {
  message: inRoom,
  request: inRoom,
  turn: pageOfTurn,
  job: ({ id }) => ({ to: "/jobs/$id", params: { id } }),
  run: ({ id }) => ({ to: "/plans/runs/$run", params: { run: id } }),
  port: ({ id }) => {
    const [run = "", port = ""] = id.split("/");
    return { to: "/plans/runs/$run/ports/$port", params: { run, port } };
  },
  escalation: () => ({ to: "/escalations" }),
};

function inRoom({ place }: WorkTraceNode): ThingPage {
  return { to: "/rooms/$place", params: { place: place ?? "" } };
}

/** Of a conversation its page; of a room or a job the page where its words stand. Pure. */
function pageOfTurn(node: WorkTraceNode): ThingPage {
  const session = node.session ?? "";
  const [, place] = ROOM.exec(session) ?? [];
  if (place !== undefined) return inRoom({ ...node, place });
  const [, job] = JOB.exec(session) ?? [];
  if (job !== undefined) return { to: "/jobs/$id", params: { id: job } };
  if (session.startsWith("escalation:")) return { to: "/escalations" };
  return { to: "/chat/$session", params: { session } };
}

function ToPlace({ node, label }: { node: WorkTraceNode; label: string }): ReactNode {
  const { to, params } = PAGES[node.kind](node);
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
