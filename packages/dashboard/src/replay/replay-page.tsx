import { Button, Loader, Textarea, TextInput } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { ReplayableTurn, ReplayRequest, TurnReplay } from "dure/client";
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Markdown } from "../chat/markdown.tsx";
import { moneyOf } from "../costs/sums.ts";
import { useLanguage, useWords } from "../language.tsx";
import { ErrorWords, Problem } from "../problem.tsx";
import { useServerKorean } from "../use-server-korean.ts";
import { spanOf } from "../when.ts";
import { REPLAY_WORDS } from "words:later/replay";
import "../traces/traces.css";
import { useAsked } from "../asked.ts";
import { usePageTitle } from "../whole-page.tsx";

/** A stored turn, and beside it the same turn with another model or other prompts. */
export function ReplayPage(): ReactNode {
  const { turn = "" } = useParams({ strict: false });
  const words = useWords(REPLAY_WORDS);
  usePageTitle(words.title);

  const stored = useAsked(["replay", turn], (client, signal) =>
    client.replayable(turn, { signal }),
  );
  if (stored.data !== undefined) return <Replayed key={turn} turn={stored.data} />;

  return (
    <div className="center-page">
      {stored.error === null ? (
        <Loader type="dots" role="status" aria-label={words.loading} />
      ) : (
        <>
          <h1>{words.failed}</h1>
          <p className="soft">
            <ErrorWords error={stored.error} />
          </p>
          <Button component={Link} to="/chat" variant="default">
            {words.toChats}
          </Button>
        </>
      )}
    </div>
  );
}

function Replayed({ turn }: { turn: ReplayableTurn }): ReactNode {
  const words = useWords(REPLAY_WORDS);
  const { client } = useParts();
  const { from } = useSearch({ strict: false });
  const leaving = useRef<AbortController>(undefined);
  const replay = useMutation({
    mutationFn: (change: ReplayRequest) => {
      leaving.current = new AbortController();
      const order = { ...change, from, anyVersion: turn.isOtherVersion || undefined };
      return client.replay(turn.turnId, order, { signal: leaving.current.signal });
    },
  });
  useEffect(() => () => leaving.current?.abort(), []);
  const stop = (): void => {
    leaving.current?.abort();
    replay.reset();
  };

  return (
    <div className="replay page" tabIndex={0} role="region" aria-label={words.title}>
      <Link
        to="/chat/$session"
        params={{ session: turn.sessionId }}
        className="row inline plain good-words"
      >
        <IconArrowLeft size={16} stroke={1.7} aria-hidden /> {words.toChat}
      </Link>
      <header>
        <h1>{words.title}</h1>
        <p className="soft">{words.lead}</p>
      </header>
      {from !== undefined && (
        <p className="note good">
          {words.fromHere({ place: from })}{" "}
          <Link
            to="/traces/$id"
            params={{ id: turn.turnId }}
            search={{ row: `${turn.turnId}@${from}` }}
          >
            {words.toTrace}
          </Link>
        </p>
      )}
      {turn.isOtherVersion && <p className="note warns">{words.otherVersion}</p>}
      <section className="replay-card card stack loose">
        <h2>{words.said}</h2>
        <p className="verbatim">{turn.input === "" ? words.bySystem : turn.input}</p>
      </section>
      <Change turn={turn} isRunning={replay.isPending} onRun={replay.mutate} onStop={stop} />
      <div className="columns">
        <Answer title={words.stored} answer={turn} />
        {replay.isPending && <Waiting />}
        {replay.error !== null && !replay.isPending && <Problem error={replay.error} />}
        {replay.data !== undefined && <Answer title={words.replayed} answer={replay.data} />}
        {replay.isIdle && <p className="replay-card card stack loose soft">{words.none}</p>}
      </div>
    </div>
  );
}

function Waiting(): ReactNode {
  const words = useWords(REPLAY_WORDS);
  return (
    <p className="replay-card card stack loose soft" role="status">
      <Loader size="xs" type="dots" aria-hidden /> {words.running}
    </p>
  );
}

/** What is to be different. */
function Change(props: {
  turn: ReplayableTurn;
  isRunning: boolean;
  onRun: (change: ReplayRequest) => void;
  onStop: () => void;
}): ReactNode {
  const { turn, isRunning, onRun, onStop } = props;
  const words = useWords(REPLAY_WORDS);
  const [model, setModel] = useState("");
  const [prompts, setPrompts] = useState<Readonly<Record<string, string>>>({});
  const asked = turn.replayed.filter(({ isCustom }) => !isCustom);
  const models = [...new Set(asked.map((agent) => agent.model))];

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const changed = Object.entries(prompts).map(([agent, prompt]) => ({ agent, prompt }));
    onRun({ model: model.trim() || undefined, prompts: changed });
  };

  if (turn.replayed.length === 0) {
    return <p className="replay-card card stack loose soft">{words.noAgents}</p>;
  }
  return (
    <form className="replay-card card stack loose" onSubmit={submit}>
      <TextInput
        label={words.model}
        description={words.modelHint({ names: models.join(", ") })}
        placeholder={models[0]}
        value={model}
        onChange={(event) => setModel(event.currentTarget.value)}
        maxLength={200}
      />
      {asked.map(({ key, prompt }) => (
        <Textarea
          key={key}
          label={words.prompt({ agent: key })}
          description={words.promptHint}
          value={prompts[key] ?? prompt}
          onChange={(event) => {
            const written = event.currentTarget.value;
            setPrompts((before) => ({ ...before, [key]: written }));
          }}
          autosize
          minRows={3}
          maxRows={16}
        />
      ))}
      <OfCode agents={turn.replayed} />
      <div className="row top">
        <Button type="submit" loading={isRunning}>
          {words.run}
        </Button>
        {isRunning && (
          <Button variant="default" onClick={onStop}>
            {words.stop}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Agents of code, which are not asked anew. */
function OfCode({ agents }: { agents: ReplayableTurn["replayed"] }): ReactNode {
  const words = useWords(REPLAY_WORDS);
  return agents
    .filter(({ isCustom }) => isCustom)
    .map(({ key }) => (
      <p key={key} className="soft small">
        {words.isCustom({ agent: key })}
      </p>
    ));
}

type ShownReplay = Pick<TurnReplay, "message" | "agents" | "elapsedMs"> &
  Partial<Pick<TurnReplay, "calls" | "error" | "microUsd">>;

function Answer({ title, answer }: { title: string; answer: ShownReplay }): ReactNode {
  const words = useWords(REPLAY_WORDS);
  const { language } = useLanguage();
  const korean = useServerKorean();
  const { message, agents, elapsedMs, calls = [], error, microUsd } = answer;
  const sum = (of: "tokensIn" | "tokensOut"): number =>
    agents.reduce((total, agent) => total + agent[of], 0);

  return (
    <section className="replay-card card stack loose" aria-label={title}>
      <h2>{title}</h2>
      {message === "" ? <p className="soft">{words.empty}</p> : <Markdown>{message}</Markdown>}
      {error && (
        <p className="replay-ended note" role="note">
          <strong>{words.ended({ code: error.code })}</strong>{" "}
          {isOtherWay(error.code) ? words.otherWay : (korean.refusal(error) ?? error.message)}
        </p>
      )}
      <dl className="replay-facts">
        <dt>{words.time}</dt>
        <dd>{spanOf(elapsedMs, language)}</dd>
        <dt>{words.tokens}</dt>
        <dd>{words.tokensOf({ taken: sum("tokensIn"), given: sum("tokensOut") })}</dd>
        {microUsd !== undefined && (
          <>
            <dt>{words.cost}</dt>
            <dd>{microUsd === null ? words.noPrice : moneyOf(microUsd, language)}</dd>
          </>
        )}
      </dl>
      {calls.length > 0 && <Calls calls={calls} />}
    </section>
  );
}

function isOtherWay(code: string): boolean {
  return code === "REPLAY_REFUSED" || code === "TURN_DIVERGED";
}

function Calls({ calls }: { calls: TurnReplay["calls"] }): ReactNode {
  const words = useWords(REPLAY_WORDS);
  return (
    <>
      <h3>{words.calls}</h3>
      <ul className="stack">
        {calls.map(({ tool, args, answer }, index) => (
          <li className="stack tight" key={index} data-refused={answer === "refused" || undefined}>
            <code>
              {tool}({JSON.stringify(args)})
            </code>
            <span className="soft small">{words[answer]}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
