import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RunDetail } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { EscalationCard } from "../escalations/escalation-card.tsx";
import { useText } from "../language.tsx";
import { keepLooks } from "./run-filters.ts";
import { PLAN_KEYS, useReadRun } from "./use-plans.ts";
import { useAsked } from "../asked.ts";

/** Open questions that are shown at once; the inbox has them all. */
const SHOWN = 50;

/**
 * What of a run, or of one of its ports, waits for a person. `beside`: a port whose own questions
 * are shown beside it.
 */
export function RunEscalations({
  run,
  port,
  beside,
}: {
  run: RunDetail;
  port?: string;
  beside?: string | undefined;
}): ReactNode {
  const text = useText();
  const { client } = useParts();
  const decide = useDeciding(run.id);

  const open = useAsked(["escalations", "run", run.id], (client, signal) =>
    client.escalations({ run: run.id, status: "open", limit: SHOWN }, { signal }),
  );

  const items = (open.data?.items ?? []).filter(({ source }) =>
    port === undefined ? beside === undefined || source.port !== beside : source.port === port,
  );
  if (items.length === 0) return null;

  const titleOf = (id: string): string => run.ports.find((one) => one.id === id)?.title ?? id;
  const words = text.plans.run.escalations;

  return (
    <section
      className="run-escalations stack rigid"
      aria-label={port === undefined ? words : `${words}: ${titleOf(port)}`}
    >
      <h2>{port === undefined ? `${words} (${items.length})` : words}</h2>
      <ul className="stack">
        {items.map((one) => (
          <li key={one.id}>
            {port === undefined && one.source.port !== undefined && (
              <Link
                to="/plans/runs/$run/ports/$port"
                params={{ run: run.id, port: one.source.port }}
                search={keepLooks}
                className="run-escalation-port small row flush inline"
              >
                {titleOf(one.source.port)}
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

/** Carries out a decision; what it changes is read anew, also when it was refused. */
function useDeciding(run: string): (deed: Promise<unknown>) => Promise<void> {
  const queries = useQueryClient();
  const readRun = useReadRun(run);
  const read = async (): Promise<void> => {
    const keys = [["escalations"], PLAN_KEYS.ports(run)];
    await Promise.all([
      readRun(),
      ...keys.map((queryKey) => queries.invalidateQueries({ queryKey })),
    ]);
  };

  return async (deed) => {
    await deed.catch((error: unknown) => {
      void read(); // why it was refused is said at once
      throw error;
    });
    await read();
  };
}
