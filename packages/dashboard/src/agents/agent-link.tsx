import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** The name of an agent, which leads to its page. */
export function AgentLink({
  id,
  className = "agent-link plain",
  children,
}: {
  id: string;
  className?: string | undefined;
  children: ReactNode;
}): ReactNode {
  return (
    <Link to="/agents/$agent" params={{ agent: id }} className={className}>
      {children}
    </Link>
  );
}
