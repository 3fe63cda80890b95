import { IconMessageReport } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import {
  isJobOver,
  type JobDetail,
  type JobTurn,
  type JobWords,
  DureError,
  EMPTY_TURN_VIEW,
  shownText,
  systemClock,
  turnView,
  type DureClient,
  type Job,
} from "dure/client";
import { type ReactNode, useEffect, useState } from "react";
import { Markdown } from "../chat/markdown.tsx";
import { Facts } from "../facts.tsx";
import { FileLinks } from "../files/file-links.tsx";
import { useLanguage, useText } from "../language.tsx";
import { Portrait } from "../rooms/message-row.tsx";
import { useServerNow } from "../server-clock.ts";
import { momentOf, spanOf, whenOf } from "../when.ts";
import { linesOf, nameIn, nextSpeaker } from "./exchange.ts";
import { statusWords } from "./status-badge.tsx";
import { useParts } from "../app-parts.tsx";

/** What was said, by whom, when; and who speaks now. */
export function Transcript({ job }: { job: JobDetail }): ReactNode {
  const text = useText();
  return (
    <section className="exchange">
      <div role="log" aria-label={text.jobs.transcript}>
        <ol className="stack tight">
          {linesOf(job).map((line) => {
            switch (line.kind) {
              case "request":
                return <RequestRow key="request" job={job} />;
              case "turn":
                return <TurnRow key={line.turn.number} job={job} turn={line.turn} />;
              case "words":
                return <WordsRow key={`words-${line.words.id}`} words={line.words} />;
            }
          })}
        </ol>
      </div>
      {!isJobOver(job.status) && <Now key={job.turnsDone} job={job} />}
    </section>
  );
}

function RequestRow({ job }: { job: JobDetail }): ReactNode {
  const { text, language } = useLanguage();
  const { kind: _kind, ...facts } = job.payload ?? { kind: "" };

  return (
    <li className="room-message" data-kind="agent">
      <Portrait name={job.requesterName} kind="agent" />
      <div className="room-message-body stack tight">
        <p className="room-message-head meta cluster baseline">
          <strong>{job.requesterName}</strong>
          <span className="badge">{text.jobs.request}</span>
          <Time at={job.createdAt} words={whenOf(job.createdAt, language)} />
        </p>
        <Markdown>{job.message}</Markdown>
        {Object.keys(facts).length > 0 && <Facts value={facts} />}
        <FilesOf job={job} turn={0} />
        {job.origin !== null && (
          <Link className="small" to="/chat/$session" params={{ session: job.origin.session }}>
            {text.jobs.toOrigin}
          </Link>
        )}
      </div>
    </li>
  );
}

function TurnRow({ job, turn }: { job: JobDetail; turn: JobTurn }): ReactNode {
  const { text, language } = useLanguage();
  const name = nameIn(job, turn.speaker);

  const facts = [
    text.jobs.turn({ number: turn.number }),
    spanOf(turn.finishedAt - turn.startedAt, language),
    text.jobs.tokens({ count: turn.tokensIn + turn.tokensOut }),
    turn.attempts > 1 && text.jobs.attempts({ count: turn.attempts }),
    turn.attempts === 0 && text.jobs.takenOver,
  ];

  return (
    <li className="room-message" data-kind="agent" data-turn={turn.number}>
      <Portrait name={name} kind="agent" />
      <div className="room-message-body stack tight">
        <p className="room-message-head meta cluster baseline">
          <strong>{name}</strong>
          <Time at={turn.finishedAt} words={whenOf(turn.finishedAt, language)} />
        </p>
        {turn.text === "" ? (
          <p className="soft">{text.jobs.noWords}</p>
        ) : (
          <Markdown>{turn.text}</Markdown>
        )}
        <FilesOf job={job} turn={turn.number} />
        <p className="meta">{facts.filter((fact) => fact !== false).join(" · ")}</p>
      </div>
    </li>
  );
}

/** What came with the request (0) or with a turn. */
function FilesOf({ job, turn }: { job: JobDetail; turn: number }): ReactNode {
  const files = job.files.filter((file) => file.turn === turn);
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}/files`;
  return <FileLinks files={files} addressOf={(id) => `${path}/${id}`} />;
}

/** What a person said into it. */
function WordsRow({ words }: { words: JobWords }): ReactNode {
  const { text, language } = useLanguage();
  return (
    <li className="room-message" data-kind="person">
      <Portrait name={words.author} kind="person" />
      <div className="room-message-body stack tight">
        <p className="room-message-head meta cluster baseline">
          <strong>{words.author}</strong>
          <span className="badge">{text.jobs.spoken}</span>
          <Time at={words.at} words={whenOf(words.at, language)} />
        </p>
        <p className="person-words verbatim note warns">{words.text}</p>
        <p className="meta">
          {words.turn === null ? text.jobs.notHeardYet : text.jobs.heardIn({ turn: words.turn })}
        </p>
      </div>
    </li>
  );
}

/** Who has to do something, for how long already, and what has been said of it so far. */
function Now({ job }: { job: JobDetail }): ReactNode {
  const { text, language } = useLanguage();
  const speaker = nextSpeaker(job);
  const name = nameIn(job, speaker);
  const isSpeaking = job.status === "RUNNING" && job.waiting === null;
  const said = useLiveText(job, speaker, isSpeaking);
  const elapsed = useElapsed(
    job.status === "PENDING" ? job.createdAt : (job.turnStartedAt ?? job.updatedAt),
  );

  if (job.waiting !== null) {
    return (
      <p className="exchange-now row small soft" role="status">
        <IconMessageReport size={16} aria-hidden /> {statusWords(job, text.jobs)}
      </p>
    );
  }

  return (
    <div className="exchange-now" data-speaks={said !== "" || undefined}>
      {said !== "" && (
        <div className="room-message" data-kind="agent">
          <Portrait name={name} kind="agent" />
          <div className="room-message-body stack tight">
            <p className="room-message-head meta cluster baseline">
              <strong>{name}</strong>
            </p>
            <Markdown>{said}</Markdown>
          </div>
        </div>
      )}
      <p className="row small soft">
        <span className="pulse" aria-hidden />{" "}
        <span role="status">
          {isSpeaking
            ? text.jobs.speaks({ name, turn: job.turnsDone + 1 })
            : text.jobs.inLine({ name: job.targetName })}
        </span>{" "}
        {elapsed > 0 && <span aria-hidden>{spanOf(elapsed, language)}</span>}
      </p>
    </div>
  );
}

/**
 * Milliseconds since then, by the second; a reader who comes late sees how long it has taken already.
 * @param from by the server's clock.
 */
function useElapsed(from: number): number {
  const now = useServerNow();
  return Math.max(Math.floor((now - from) / 1_000) * 1_000, 0);
}

function Time({ at, words }: { at: number; words: string }): ReactNode {
  const { language } = useLanguage();
  return (
    <time dateTime={new Date(at).toISOString()} title={momentOf(at, language)}>
      {words}
    </time>
  );
}

// --- live text

/** How often the conversation turn of a new exchange turn is looked for, milliseconds. */
const LOOK_EVERY_MS = 700;
/** Agents whose sessions can be named from here; the server gives others a name of its own. */
const PLAIN_AGENT = /^[A-Za-z0-9._@-]{1,100}$/;

/**
 * What an agent has said so far in the exchange turn that is under way: each agent's exchange is a
 * session of its own.
 */
function useLiveText(job: Pick<Job, "jobId">, speaker: string, isSpeaking: boolean): string {
  const { client } = useParts();
  const [said, setSaid] = useState("");
  const session = `job:${job.jobId}:${speaker}`;

  useEffect(() => {
    if (!isSpeaking || !PLAIN_AGENT.test(speaker)) return undefined;

    const leave = new AbortController();
    void follow(client, session, setSaid, leave.signal);

    return () => leave.abort();
  }, [client, session, speaker, isSpeaking]);

  return said;
}

async function follow(
  client: DureClient,
  session: string,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const turn = await runningTurn(client, session, signal);
    let view = EMPTY_TURN_VIEW;
    for await (const frame of client.followTurn(turn, { signal })) {
      say(shownText((view = turnView(view, frame, systemClock.now()))));
    }
  } catch {
    // Left, or not allowed to read conversations: the finished turn comes with the job.
  }
}

async function runningTurn(
  client: DureClient,
  session: string,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    // The exchange begins before its conversation: nothing there yet is no failure.
    await systemClock.sleep(LOOK_EVERY_MS, { signal });
    const found = await client.session(session, { signal }).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "not-found") return undefined;
      throw error;
    });
    if (found?.runningTurn) return found.runningTurn.turnId;
  }
}
