import { Link } from "@tanstack/react-router";
import type { PlatformEvent } from "dure/client";
import type { ReactNode } from "react";
import { useLanguage } from "../language.tsx";
import { momentOf } from "../when.ts";
import type { LogRow } from "./event-log.ts";
import { useSentences } from "./use-sentences.ts";

/** One event in words, the way to what it is about, and all that it holds behind a fold. */
export function EventDetail({ row }: { row: LogRow }): ReactNode {
  const { text, language } = useLanguage();
  const { events: words } = text;
  const sentence = useSentences();
  const { event } = row;

  return (
    <div className="event-detail stack loose">
      <h2>{sentence(event)}</h2>
      <p className="soft small">
        <time dateTime={new Date(event.at).toISOString()}>{momentOf(event.at, language)}</time>
      </p>
      <p className="toolbar">
        <Subjects event={event} />
      </p>
      <details className="more">
        <summary>{words.raw}</summary>
        <pre tabIndex={0} aria-label={words.raw}>
          {JSON.stringify(event, null, 2)}
        </pre>
      </details>
    </div>
  );
}

/** The pages of what an event is about. */
function Subjects({ event }: { event: PlatformEvent }): ReactNode {
  const { nav } = useLanguage().text.shell;
  const { room, job, run, agent, session } = event;
  const isChat = session !== undefined && !/^(room|job):/u.test(session);
  return (
    <>
      {room !== undefined && (
        <Link to="/rooms/$place" params={{ place: room }}>
          {nav.rooms}
        </Link>
      )}
      {job !== undefined && (
        <Link to="/jobs/$id" params={{ id: job }}>
          {nav.jobs}
        </Link>
      )}
      {run !== undefined && (
        <Link to="/plans/runs/$run" params={{ run }}>
          {nav.plans}
        </Link>
      )}
      {agent !== undefined && (
        <Link to="/agents/$agent" params={{ agent }}>
          {nav.agents}
        </Link>
      )}
      {isChat && (
        <Link to="/chat/$session" params={{ session }}>
          {nav.chat}
        </Link>
      )}
    </>
  );
}
