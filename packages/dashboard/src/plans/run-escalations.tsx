import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RunDetail } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { EscalationCard } from "../escalations/escalation-card.tsx";
import { useText } from "../language.tsx";
import { keepLooks } from "./run-filters.ts";
import { PLAN_KEYS } from "./use-plans.ts";

/** Open questions that are shown at once; the inbox has them all. */
const SHOWN = 50;

/** What of a run, or of one of its ports, waits for a person. */
export function RunEscalations({ run, port }: { run: RunDetail; port?: string }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();
  const open = useQuery({
    queryKey: ["escalations", "run", run.id],
    queryFn: ({ signal }) =>
      client.escalations({ run: run.id, status: "open", limit: SHOWN }, { signal }),
  });
  const items = (open.data?.items ?? []).filter(
    ({ source }) => port === undefined || source.port === port,
  );
  if (items.length === 0) return null;
  const decide = async (deed: Promise<unknown>): Promise<void> => {
    const read = (): Promise<unknown> =>
      Promise.all(
        [["escalations"], PLAN_KEYS.run(run.id), PLAN_KEYS.ports(run.id)].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      );
    await deed.catch((error: unknown) => {
      void read(); // why it was refused is said at once
      throw error;
    });
    await read();
  };
  return (
    <section
      className="run-escalations"
      aria-label={
        port === undefined
          ? text.plans.run.escalations
          : `${text.plans.run.escalations}: ${run.ports.find(({ id }) => id === port)?.title ?? port}`
      }
    >
      <h2>
        {port === undefined
          ? `${text.plans.run.escalations} (${items.length})`
          : text.plans.run.escalations}
      </h2>
      <ul>
        {items.map((one) => (
          <li key={one.id}>
            {port === undefined && one.source.port !== undefined && (
              <Link
                to="/plans/runs/$run/ports/$port"
                params={{ run: run.id, port: one.source.port }}
                search={keepLooks}
                className="run-escalation-port"
              >
                {run.ports.find(({ id }) => id === one.source.port)?.title ?? one.source.port}
              </Link>
            )}
            <EscalationCard
              escalation={one}
              place="conversation"
              onAnswer={(answer) => decide(client.answerEscalation(one.id, answer))}
              onDismiss={() => decide(client.dismissEscalation(one.id))}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
