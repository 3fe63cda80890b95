import type { AgentDetail } from "dure/client";
import type { ReactNode } from "react";
import { useAgentWords } from "./agent-words.ts";

/** Instructions that an agent loads when it wants them; nothing where it has none. */
export function AgentSkills({ skills }: { skills: AgentDetail["skills"] }): ReactNode {
  const words = useAgentWords();
  if (skills.length === 0) return null;

  return (
    <section className="card stack" aria-label={words.skills}>
      <h2>{words.skills}</h2>
      <ul className="agent-tools divided">
        {skills.map(({ name, description }) => (
          <li className="stack tight" key={name}>
            <span className="cluster baseline">
              <code>{name}</code>
            </span>
            <span className="soft small">{description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
