import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { EscalationCard } from "../escalations/escalation-card.tsx";
import { useText } from "../language.tsx";
import { PLAN_KEYS } from "./use-plans.ts";

/** Open questions that are shown at once; the inbox has them all. */
const SHOWN = 50;

/** What of a run, or of one of its ports, waits for a person. */
export function RunEscalations({ run, port }: { run: string; port?: string }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();
  const open = useQuery({ queryKey: ["escalations", "run", run], queryFn: ({ signal }) => client.escalations({ run, status: "open", limit: SHOWN }, { signal }) });
  const items = (open.data?.items ?? []).filter(({ source }) => port === undefined || source.port === port);
  if (items.length === 0) return null;
  const decide = async (deed: Promise<unknown>): Promise<void> => {
    const read = (): Promise<unknown> => Promise.all([["escalations"], PLAN_KEYS.run(run), PLAN_KEYS.ports(run)].map((queryKey) => queries.invalidateQueries({ queryKey })));
    await deed.catch((error: unknown) => {
      void read(); // why it was refused is said at once
      throw error;
    });
    await read();
  };
  return (
    <section className="run-escalations" aria-label={text.plans.run.escalations}>
      {port === undefined ? <h2>{`${text.plans.run.escalations} (${items.length})`}</h2> : <h3>{text.plans.run.escalations}</h3>}
      <ul>
        {items.map((one) => (
          <li key={one.id}>
            <EscalationCard escalation={one} place="inbox" onAnswer={(answer) => decide(client.answerEscalation(one.id, answer))} onDismiss={() => decide(client.dismissEscalation(one.id))} />
          </li>
        ))}
      </ul>
    </section>
  );
}
