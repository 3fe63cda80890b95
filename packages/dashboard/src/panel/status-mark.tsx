import {
  IconAlertTriangle,
  IconCheck,
  IconHourglassHigh,
  IconPlayerStop,
} from "@tabler/icons-react";
import type { AgentRun, ToolRun } from "dure/client";
import type { ReactNode } from "react";

/** How an agent's run, or a call of a tool, stands. */
export function StatusMark({
  status,
}: {
  status: AgentRun["status"] | ToolRun["status"];
}): ReactNode {
  switch (status) {
    case "running":
      return <span className="pulse" />;
    case "done":
      return <IconCheck size={15} stroke={2.2} />;
    case "failed":
      return <IconAlertTriangle size={15} />;
    case "asks":
      return <IconHourglassHigh size={15} />;
    case "stopped":
      return <IconPlayerStop size={15} />;
    default:
      status satisfies never;
      return null;
  }
}
