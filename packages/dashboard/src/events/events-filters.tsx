import { ActionIcon, Button, NativeSelect, TextInput } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconSearch, IconTrash } from "@tabler/icons-react";
import type { EventRole } from "dure/client";
import { use, useMemo, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { EVENTS_WORDS } from "words:later/events";
import { useWords } from "../language.tsx";
import { eventLogOf, type LogView } from "./event-log.ts";
import { KINDS, partakersOf, placeOf, SPANS, type Chosen, type FacetKind } from "./facets.ts";
import { EventNamesContext } from "./use-sentences.ts";

const ROLES = [
  "conversation",
  "delegation",
  "orchestration",
  "system",
] as const satisfies readonly EventRole[];
/** Entries of a menu. */
const MOST = 100;

/** What a reader has chosen and written. */
export interface WrittenFilter extends Chosen {
  readonly kind: FacetKind | "";
  readonly types: string;
  readonly session: string;
  readonly role: EventRole | "";
  readonly search: string;
}

export const NOTHING_WRITTEN: WrittenFilter = {
  who: "",
  kind: "",
  where: "",
  since: "",
  types: "",
  session: "",
  role: "",
  search: "",
};

interface FiltersProps {
  readonly written: WrittenFilter;
  readonly onWrite: (written: WrittenFilter) => void;
  readonly view: LogView;
}

/** Who, what, where, since when; the rest behind a fold. */
export function EventFilters({ written, onWrite, view }: FiltersProps): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const write = (part: Partial<WrittenFilter>): void => onWrite({ ...written, ...part });
  const { who, where } = useFacets(view);

  return (
    <div className="events-filters" role="search">
      <TextInput
        className="events-search"
        aria-label={words.search}
        placeholder={words.search}
        leftSection={<IconSearch size={15} />}
        value={written.search}
        onChange={(event) => write({ search: event.currentTarget.value })}
      />
      <Facet
        label={words.who}
        all={words.anyone}
        value={written.who}
        options={who.map(itself)}
        onChange={(value) => write({ who: value })}
      />
      <Facet
        label={words.kind}
        all={words.anyKind}
        value={written.kind}
        options={Object.keys(KINDS).map((kind) => [kind, words.kinds[kind as FacetKind]])}
        onChange={(value) => write({ kind: value as FacetKind | "" })}
      />
      <Facet
        label={words.where}
        all={words.anywhere}
        value={written.where}
        options={where.map(itself)}
        onChange={(value) => write({ where: value })}
      />
      <Facet
        label={words.since}
        all={words.ever}
        value={written.since}
        options={Object.keys(SPANS).map((span) => [span, words.spans[span as keyof typeof SPANS]])}
        onChange={(value) => write({ since: value as WrittenFilter["since"] })}
      />
      <Actions isPaused={view.paused} />
      <MoreFilters written={written} write={write} />
    </div>
  );
}

/** Names that stand in the events that were received, in the order of the alphabet. */
function useFacets({ rows }: LogView): {
  readonly who: readonly string[];
  readonly where: readonly string[];
} {
  const names = use(EventNamesContext)!;
  return useMemo(() => {
    const who = new Set(rows.flatMap(({ event }) => partakersOf(event, names)));
    const where = new Set(rows.map(({ event }) => placeOf(event, names) ?? ""));
    where.delete("");
    return { who: [...who].toSorted().slice(0, MOST), where: [...where].toSorted().slice(0, MOST) };
  }, [rows, names]);
}

function itself(name: string): [string, string] {
  return [name, name];
}

function Facet(props: {
  label: string;
  all: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}): ReactNode {
  const { label, all, value, options, onChange } = props;
  const isThere = value === "" || options.some(([one]) => one === value);
  const shown = isThere ? options : [...options, itself(value)];
  return (
    <NativeSelect
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: "", label: `${label}: ${all}` },
        ...shown.map(([one, words]) => ({ value: one, label: words })),
      ]}
    />
  );
}

/** For those who know the types by name. */
function MoreFilters({
  written,
  write,
}: {
  written: WrittenFilter;
  write: (part: Partial<WrittenFilter>) => void;
}): ReactNode {
  const words = useWords(EVENTS_WORDS);
  return (
    <details className="events-more more whole">
      <summary>{words.more}</summary>
      <div>
        <TextInput
          aria-label={words.types}
          placeholder={`${words.types} · ${words.typesHint}`}
          value={written.types}
          onChange={(event) => write({ types: event.currentTarget.value })}
        />
        <TextInput
          aria-label={words.session}
          placeholder={words.session}
          value={written.session}
          onChange={(event) => write({ session: event.currentTarget.value })}
        />
        <NativeSelect
          aria-label={words.role}
          value={written.role}
          onChange={(event) => write({ role: event.currentTarget.value as WrittenFilter["role"] })}
          data={[
            { value: "", label: words.allRoles },
            ...ROLES.map((one) => ({ value: one, label: words.roles[one] })),
          ]}
        />
      </div>
    </details>
  );
}

function Actions({ isPaused }: { isPaused: boolean }): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const eventLog = eventLogOf(useParts().client);

  return (
    <div className="events-actions row top">
      <Button
        variant="default"
        leftSection={isPaused ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
        aria-pressed={isPaused}
        onClick={() => (isPaused ? eventLog.resume() : eventLog.pause())}
      >
        {isPaused ? words.resume : words.pause}
      </Button>
      <ActionIcon
        variant="default"
        size={36}
        aria-label={words.clear}
        onClick={() => eventLog.clear()}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </div>
  );
}
