import { Button, TextInput } from "@mantine/core";
import { IconChecks, IconSearch } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import type { DureClient, Escalation } from "dure/client";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { EscalationCard } from "./escalation-card.tsx";
import { inboxOf } from "./order.ts";

/** Questions that the page shows at most; older ones are found by the API. */
const SHOWN = 200;

/** The one inbox: what waits for a decision, and what was decided. */
export function EscalationsPage(): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();
  const [search, setSearch] = useState("");
  const inbox = useQuery({ queryKey: ["escalations"], queryFn: ({ signal }) => client.escalations({ limit: SHOWN }, { signal }) });
  useEffect(() => {
    document.title = `${text.escalations.pageTitle} · dure`;
  }, [text]);
  useEffect(() => {
    const leave = new AbortController();
    const read = (): void => void queries.invalidateQueries({ queryKey: ["escalations"] });
    void follow(client, read, leave.signal);
    return () => leave.abort();
  }, [client, queries]);

  const words = search.trim().toLowerCase();
  const { open, closed } = inboxOf((inbox.data ?? []).filter((one) => words === "" || wordsOf(one).includes(words)));
  const answer = async (id: string, value: string): Promise<void> => {
    try {
      await client.answerEscalation(id, value);
    } finally {
      await queries.invalidateQueries({ queryKey: ["escalations"] });
    }
  };
  return (
    <div className="inbox">
      <header>
        <h1>{text.escalations.pageTitle}</h1>
        <p className="soft">{text.escalations.lead}</p>
      </header>
      {(inbox.data?.length ?? 0) > 0 && (
        <TextInput value={search} onChange={(event) => setSearch(event.currentTarget.value)} placeholder={text.escalations.search} aria-label={text.escalations.search} leftSection={<IconSearch size={15} />} />
      )}
      {inbox.error !== null && (
        <div className="problem" role="alert">
          <p>{inbox.error.message}</p>
          <div className="problem-actions">
            <Button size="compact-sm" variant="default" onClick={() => void inbox.refetch()}>
              {text.connection.retry}
            </Button>
          </div>
        </div>
      )}
      {inbox.isSuccess && open.length === 0 && (
        <div className="inbox-empty">
          <IconChecks size={30} stroke={1.4} aria-hidden />
          <p>{words === "" ? text.escalations.empty : text.escalations.noMatch(search.trim())}</p>
          {words === "" && <p className="soft small">{text.escalations.emptyHint}</p>}
        </div>
      )}
      <Section title={text.escalations.open(open.length)} all={open} onAnswer={answer} />
      <Section title={text.escalations.history} all={closed} onAnswer={answer} />
    </div>
  );
}

function Section({ title, all, onAnswer }: { title: string; all: readonly Escalation[]; onAnswer: (id: string, value: string) => Promise<void> }): ReactNode {
  if (all.length === 0) return null;
  return (
    <section>
      <h2 className="panel-title">{title}</h2>
      <ul className="inbox-list">
        {all.map((one) => (
          <li key={one.id}>
            <EscalationCard escalation={one} place="inbox" onAnswer={(value) => onAnswer(one.id, value)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function wordsOf({ question, context, session, service, answeredBy }: Escalation): string {
  return [question, JSON.stringify(context), session, service, answeredBy].join(" ").toLowerCase();
}

/** Calls `read` after each news about escalations, and once the connection stands, until the signal aborts. */
async function follow(client: DureClient, read: () => void, signal: AbortSignal): Promise<void> {
  try {
    for await (const _news of client.events({ types: ["escalation.*"] }, { signal, onReset: read, onConnection: (state) => state === "connected" && read() })) read();
  } catch {
    // Left, or refused: the list is then as it was when the page was opened.
  }
}
