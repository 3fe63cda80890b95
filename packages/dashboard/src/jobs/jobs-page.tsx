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

/**
 * Exchanges between agents: the list, and beside it (instead of it where there is little room) the
 * one that was picked.
 */
export function JobsPage(): ReactNode {
  const text = useText();
  const { id } = useParams({ strict: false });
  useJobNews();
  useEffect(() => {
    if (id === undefined) document.title = `${text.jobs.pageTitle} · dure`;
  }, [text, id]);

  return (
    <div className="jobs" data-picked={id !== undefined || undefined}>
      <JobList picked={id} />
      <Detail key={id ?? ""} id={id} />
    </div>
  );
}

function Detail({ id }: { id: string | undefined }): ReactNode {
  const text = useText();
  const place = useRef<HTMLDivElement>(null);
  useStayAtEnd(place);

  return (
    <div
      className="jobs-detail"
      ref={place}
      role="region"
      aria-label={text.jobs.transcript}
      tabIndex={0}
    >
      {id === undefined ? <p className="jobs-pick soft">{text.jobs.pick}</p> : <JobView id={id} />}
    </div>
  );
}

/** Closer than this to the end counts as reading the newest, pixels. */
const NEAR_END = 80;

/**
 * A reader of the newest keeps it in sight while the exchange goes on; for other readers all
 * stays where it is.
 */
function useStayAtEnd(ref: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const element = ref.current!;
    let atEnd = false;
    const look = (): void =>
      void (atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END);

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
  }, [ref]);
}
