import { Link } from "@tanstack/react-router";
import type { WorkTraceNode } from "dure/client";
import type { ReactNode } from "react";

/** Where a thing of the chain can be read: its page. */
export function ToPlace({
  node,
  label,
  children,
}: {
  node: WorkTraceNode;
  label: string;
  children: ReactNode;
}): ReactNode {
  const { kind, id, session, place } = node;
  const shared = { "aria-label": label };

  switch (kind) {
    case "message":
    case "request":
      return (
        <Link {...shared} to="/rooms/$place" params={{ place: place ?? "" }}>
          {children}
        </Link>
      );
    case "turn":
      return <ToSession {...{ session, label, children }} />;
    case "job":
      return (
        <Link {...shared} to="/jobs/$id" params={{ id }}>
          {children}
        </Link>
      );
    case "run":
      return (
        <Link {...shared} to="/plans/runs/$run" params={{ run: id }}>
          {children}
        </Link>
      );
    case "port":
      return <ToPort {...{ id, label, children }} />;
    case "escalation":
      return (
        <Link {...shared} to="/escalations">
          {children}
        </Link>
      );
    default:
      return kind satisfies never;
  }
}

/** Of a conversation its page; of a room or a job the page where its words stand. */
function ToSession(props: {
  session: string | null;
  label: string;
  children: ReactNode;
}): ReactNode {
  const { label, children } = props;
  const session = props.session ?? "";
  const [, room] = /^room:[^:]+:(.+?)(?:@@[0-9a-f]{16})?$/.exec(session) ?? [];
  const [, job] = /^job:(job_[0-9A-Z]{26}):/.exec(session) ?? [];
  if (room !== undefined) {
    return (
      <Link aria-label={label} to="/rooms/$place" params={{ place: room }}>
        {children}
      </Link>
    );
  }
  if (job !== undefined) {
    return (
      <Link aria-label={label} to="/jobs/$id" params={{ id: job }}>
        {children}
      </Link>
    );
  }
  if (session.startsWith("escalation:")) {
    return (
      <Link aria-label={label} to="/escalations">
        {children}
      </Link>
    );
  }

  return (
    <Link aria-label={label} to="/chat/$session" params={{ session }}>
      {children}
    </Link>
  );
}

function ToPort(props: { id: string; label: string; children: ReactNode }): ReactNode {
  const [run = "", port = ""] = props.id.split("/");
  return (
    <Link aria-label={props.label} to="/plans/runs/$run/ports/$port" params={{ run, port }}>
      {props.children}
    </Link>
  );
}
