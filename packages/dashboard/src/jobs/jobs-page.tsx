import { useParams } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";
import "../chat/chat.css";
import { useFollowEnd } from "../follow-end.ts";
import { useText } from "../language.tsx";
import "../panel/panel.css";
import "../rooms/rooms.css";
import { JobList } from "./job-list.tsx";
import { JobView } from "./job-view.tsx";
import "./jobs.css";
import { JOB_NEWS } from "./use-jobs.ts";
import { useNews } from "../asked.ts";

/**
 * Exchanges between agents: the list, and beside it (instead of it where there is little room) the
 * one that was picked.
 */
export function JobsPage(): ReactNode {
  const text = useText();
  const { id } = useParams({ strict: false });
  useNews(JOB_NEWS);
  useEffect(() => {
    if (id === undefined) document.title = `${text.jobs.pageTitle} · dure`;
  }, [text, id]);

  return (
    <div className="jobs split" data-picked={id !== undefined || undefined}>
      <JobList picked={id} />
      <Detail key={id ?? ""} id={id} />
    </div>
  );
}

function Detail({ id }: { id: string | undefined }): ReactNode {
  const text = useText();
  const place = useRef<HTMLDivElement>(null);
  const { onScroll } = useFollowEnd(place, { begins: "top" });

  return (
    <div
      className="jobs-detail stack flush scroll"
      ref={place}
      onScroll={onScroll}
      role="region"
      aria-label={text.jobs.transcript}
      tabIndex={0}
    >
      {id === undefined ? <p className="jobs-pick soft">{text.jobs.pick}</p> : <JobView id={id} />}
    </div>
  );
}
