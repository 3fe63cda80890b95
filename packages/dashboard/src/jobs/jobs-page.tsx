import { useParams } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import "../chat/chat.css";
import { useText } from "../language.tsx";
import "../panel/panel.css";
import "../rooms/rooms.css";
import { JobList } from "./job-list.tsx";
import { JobView } from "./job-view.tsx";
import "./jobs.css";
import { useJobNews } from "./use-jobs.ts";

/** Exchanges between agents: the list, and beside it (instead of it where there is little room) the one that was picked. */
export function JobsPage(): ReactNode {
  const text = useText();
  const { id } = useParams({ strict: false });
  useJobNews();
  useEffect(() => {
    if (id === undefined) document.title = `${text.jobs.pageTitle} · dure`;
  }, [text, id]);
  const detail = useRef<HTMLDivElement>(null);
  useStayAtEnd(detail, id);
  return (
    <div className="jobs" data-picked={id !== undefined || undefined}>
      <JobList picked={id} />
      <div className="jobs-detail" ref={detail} role="region" aria-label={text.jobs.transcript} tabIndex={0}>{id === undefined ? <p className="jobs-pick soft">{text.jobs.pick}</p> : <JobView key={id} id={id} />}</div>
    </div>
  );
}

/** Closer than this to the end counts as reading the newest, pixels. */
const NEAR_END = 80;

/** Whoever reads the newest keeps it in sight while the exchange goes on; for everybody else all stays where it is. */
function useStayAtEnd(ref: RefObject<HTMLDivElement | null>, id: string | undefined): void {
  useEffect(() => {
    const element = ref.current!;
    element.scrollTop = 0;
    let atEnd = false;
    const look = (): void => void (atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END);
    const observer = new MutationObserver(() => {
      if (atEnd) element.scrollTop = element.scrollHeight;
      look();
    });
    observer.observe(element, { childList: true, subtree: true });
    element.addEventListener("scroll", look);
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [ref, id]);
}
