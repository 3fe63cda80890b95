import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconClipboardList, IconSearch } from "@tabler/icons-react";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { AuditEntry } from "dure/client";
import { useState, type ReactNode } from "react";
import { AUDIT_WORDS } from "words:later/audit";
import { useLanguage, useWords } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { momentOf } from "../when.ts";
import { deedOf, DEED_KINDS, endOf, pageOf, whoOf } from "./words.ts";
import "./audit.css";
import { usePageTitle } from "../whole-page.tsx";
import { usePages } from "../asked.ts";

/** Entries that are read at once. */
const PAGE = 50;
/** The log has no events of its own; this often it is read again, milliseconds. */
const READ_EVERY_MS = 10_000;
/** The server is asked when the search has rested for so long, milliseconds. */
const REST_MS = 250;

/** Who approved, cancelled, merged, changed what; the newest first. */
export function AuditPage(): ReactNode {
  const words = useWords(AUDIT_WORDS);
  const [kind, setKind] = useState("");
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed.trim(), REST_MS);
  const log = useAuditLog(kind, search);
  usePageTitle(words.pageTitle);
  const isFiltered = kind !== "" || search !== "";

  return (
    <div className="audit page narrow">
      <header>
        <h1>{words.pageTitle}</h1>
        <p className="soft">{words.lead}</p>
      </header>
      <div className="toolbar" role="search">
        <NativeSelect
          aria-label={words.kind}
          value={kind}
          onChange={({ currentTarget }) => setKind(currentTarget.value)}
          data={[
            { value: "", label: words.allKinds },
            ...DEED_KINDS.map((value) => ({ value, label: words.kinds[value] })),
          ]}
        />
        <TextInput
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          placeholder={words.search}
          aria-label={words.search}
          leftSection={<IconSearch size={15} />}
        />
      </div>
      {log.error !== null && <Problem error={log.error} onRetry={() => void log.refetch()} />}
      {log.data?.length === 0 && <Empty isFiltered={isFiltered} />}
      {log.data !== undefined && log.data.length > 0 && (
        <ol className="audit-list divided" aria-label={words.pageTitle}>
          {log.data.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
      {log.hasNextPage && (
        <Button
          variant="default"
          loading={log.isFetchingNextPage}
          onClick={() => void log.fetchNextPage()}
        >
          {words.older}
        </Button>
      )}
    </div>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }): ReactNode {
  const words = useWords(AUDIT_WORDS);
  return (
    <div className="empty">
      <IconClipboardList size={30} stroke={1.4} aria-hidden />
      <p>{isFiltered ? words.noMatch : words.empty}</p>
      <p className="soft small">{isFiltered ? words.noMatchHint : words.emptyHint}</p>
    </div>
  );
}

function useAuditLog(kind: string, search: string) {
  const what = kind === "" ? undefined : `${kind}.*`;
  return usePages(
    ["audit", kind, search],
    (client, cursor, signal) => client.audit({ what, search, limit: PAGE, cursor }, { signal }),
    {
      select: ({ pages }) => pages.flatMap(({ items }) => items),
      placeholderData: keepPreviousData,
      refetchInterval: (query) => (query.state.status === "error" ? false : READ_EVERY_MS),
    },
  );
}

function Entry({ entry }: { entry: AuditEntry }): ReactNode {
  const { text, language } = useLanguage();
  const words = useWords(AUDIT_WORDS);
  const { at, tenant, role, what, subject, outcome } = entry;
  const agents = useAgents();
  const nameOf = (id: string): string =>
    agents.data?.find((agent) => agent.id === id)?.displayName ?? id;
  const end = endOf(outcome);

  return (
    <li>
      <strong>{deedOf(what, words)}</strong>
      <span className="audit-end small soft" data-end={end}>
        {end === "refused" ? words.ends.refused({ code: outcome ?? "" }) : words.ends[end]}
      </span>
      <span className="soft small">
        {whoOf(entry, { text, nameOf })}
        {role && ` (${role})`}
        {tenant !== "" && ` (${tenant})`} ·{" "}
        <time dateTime={new Date(at).toISOString()}>{momentOf(at, language)}</time>
      </span>
      {subject !== "" && <Subject subject={subject} />}
    </li>
  );
}

function Subject({ subject }: { subject: string }): ReactNode {
  const page = pageOf(subject);
  const words = <code>{subject}</code>;

  switch (page?.to) {
    case "job":
      return (
        <Link to="/jobs/$id" params={{ id: page.id }} className="audit-subject small soft">
          {words}
        </Link>
      );
    case "run":
      return (
        <Link to="/plans/runs/$run" params={{ run: page.id }} className="audit-subject small soft">
          {words}
        </Link>
      );
    case "place":
      return (
        <Link to="/rooms/$place" params={{ place: page.id }} className="audit-subject small soft">
          {words}
        </Link>
      );
    case undefined:
      return <span className="audit-subject small soft">{words}</span>;
  }
}
