import { Button, Loader, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconArrowDown, IconSearch } from "@tabler/icons-react";
import { isRunOver, type PortDetail, type RunDetail, type TranscriptFilter } from "dure/client";
import { useEffect, useId, useMemo, useRef, useState, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { BlockView } from "./transcript-block.tsx";
import {
  conversationOf,
  type TranscriptPart,
  type TranscriptWindow,
  withNewer,
  withOlder,
} from "./transcript-lines.ts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParts } from "../app-parts.tsx";
import { PLAN_KEYS } from "./use-plans.ts";

/** What has to rest before it is looked for, milliseconds. */
const REST_MS = 250;
const MAX_SEARCH = 200;
const MEMBERS = ["implementer", "tester", "orchestrator"] as const;
type ShownMember = (typeof MEMBERS)[number];

/** Whose transcript it is: a port's, or that of the orchestrator's own work. */
type Transcribed = Pick<PortDetail, "id" | "steps">;

interface TranscriptProps {
  readonly run: RunDetail;
  readonly port: Transcribed;
  /** Its workers are at work. */
  readonly isWorkedOn: boolean;
}

/** What the workers of a port thought, said and did; it goes on while they work. */
export function TranscriptView({ run, port, isWorkedOn }: TranscriptProps): ReactNode {
  const words = useText().plans.transcript;
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed.trim(), REST_MS);
  const [member, setMember] = useState<ShownMember>();
  const isLive = isWorkedOn && !isRunOver(run.status);

  return (
    <div className="port-part stack loose transcript">
      <div className="toolbar">
        <TextInput
          size="sm"
          value={typed}
          maxLength={MAX_SEARCH}
          onChange={(event) => setTyped(event.currentTarget.value)}
          placeholder={words.search}
          aria-label={words.search}
          leftSection={<IconSearch size={15} aria-hidden />}
        />
        <WhoseSelect port={port} member={member} onChoose={setMember} />
      </div>
      <Lines
        key={`${member ?? ""} ${search}`}
        run={run}
        port={port}
        member={member}
        search={search}
        isLive={isLive}
      />
    </div>
  );
}

/** Shown where there is something to choose. */
function WhoseSelect({
  port,
  member,
  onChoose,
}: {
  port: Transcribed;
  member: ShownMember | undefined;
  onChoose: (member: ShownMember | undefined) => void;
}): ReactNode {
  const { transcript: words, port: names } = useText().plans;
  const there = MEMBERS.filter((one) => port.steps.some((step) => step.member === one));
  if (there.length < 2) return null;

  return (
    <NativeSelect
      size="sm"
      aria-label={words.whose}
      value={member ?? ""}
      onChange={({ currentTarget: { value } }) => onChoose(MEMBERS.find((one) => one === value))}
      data={[
        { value: "", label: words.everyone },
        ...there.map((value) => ({ value, label: names.members[value] ?? value })),
      ]}
    />
  );
}

interface LinesProps {
  readonly run: RunDetail;
  readonly port: Transcribed;
  readonly member: ShownMember | undefined;
  readonly search: string;
  readonly isLive: boolean;
}

function Lines({ run, port, member, search, isLive }: LinesProps): ReactNode {
  const words = useText().plans.transcript;
  const filter = { member, search: search === "" ? undefined : search };
  const { transcript, move } = useTranscript(run.id, port.id, filter, isLive);
  const { data: window, error } = transcript;

  if (window === undefined) {
    return error === null ? (
      <Loader type="dots" role="status" aria-label={words.loading} />
    ) : (
      <Problem error={error} onRetry={() => void transcript.refetch()} />
    );
  }

  const trouble = move.error ?? error;

  return (
    <>
      {window.lines.length === 0 && <Nothing search={search} />}
      {window.hasOlder && (
        <Button
          size="compact-sm"
          variant="default"
          className="transcript-older"
          loading={move.isPending}
          onClick={() => move.mutate("older")}
        >
          {words.older}
        </Button>
      )}
      {trouble !== null && (
        <Problem error={trouble} onRetry={() => (move.reset(), void transcript.refetch())} />
      )}
      <Conversation window={window} port={port} search={search} isLive={isLive} />
      <Foot window={window} isLive={isLive} onNewest={() => move.mutate("newest")} />
    </>
  );
}

function Nothing({ search }: { search: string }): ReactNode {
  const words = useText().plans.transcript;
  if (search !== "") return <p role="status">{words.noMatch({ words: search })}</p>;
  return (
    <div>
      <p>{words.empty}</p>
      <p className="soft small">{words.emptyHint}</p>
    </div>
  );
}

function Conversation({
  window,
  port,
  search,
  isLive,
}: Pick<LinesProps, "port" | "search" | "isLive"> & { window: TranscriptWindow }): ReactNode {
  const parts = useMemo(() => conversationOf(window.lines), [window.lines]);
  return parts.map((part) => (
    <Part
      key={part.blocks[0]!.line.id}
      part={part}
      port={port}
      search={search}
      isLive={isLive && port.steps.find(({ id }) => id === part.step)?.status === "running"}
    />
  ));
}

function Part({
  part,
  port,
  search,
  isLive,
}: Pick<LinesProps, "port" | "search" | "isLive"> & { part: TranscriptPart }): ReactNode {
  const words = useText().plans.port;
  const heading = useId();
  const kind = port.steps.find(({ id }) => id === part.step)?.kind;

  return (
    <section className="transcript-part stack" data-member={part.member} aria-labelledby={heading}>
      <h2 className="cluster" id={heading}>
        {part.member !== null && <span>{words.members[part.member]}</span>}
        <span className="soft">
          {[
            part.try > 0 && words.tryTitle({ number: part.try }),
            kind !== undefined && words.steps[kind],
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </h2>
      <ol className="stack">
        {part.blocks.map((block) => (
          <li className="card stack tight" key={block.line.id} data-kind={block.line.kind}>
            <BlockView block={block} search={search} isLive={isLive} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Where it goes on; a reader who sees the end keeps seeing it. */
function Foot({
  window,
  isLive,
  onNewest,
}: {
  window: TranscriptWindow;
  isLive: boolean;
  onNewest: () => void;
}): ReactNode {
  const words = useText().plans.transcript;
  const end = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(true);
  const last = window.lines.at(-1)?.id;
  const wasSeen = useRef(false);

  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false));
    observer.observe(end.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (last !== undefined && wasSeen.current) end.current?.scrollIntoView({ block: "nearest" });
  }, [last]);
  useEffect(() => {
    wasSeen.current = isSeen;
  }, [isSeen]);

  const toEnd = (): void => {
    if (window.hasNewer) onNewest();
    end.current?.scrollIntoView({ block: "nearest" });
  };

  return (
    <>
      {window.lines.length > 0 && (window.hasNewer || !isSeen) && (
        <Button
          size="compact-sm"
          variant="default"
          className="transcript-newest"
          leftSection={<IconArrowDown size={14} aria-hidden />}
          onClick={toEnd}
        >
          {words.newest}
        </Button>
      )}
      <div className="transcript-foot soft small" ref={end}>
        {isLive && (
          <p role="status">
            <span className="pulse" aria-hidden /> {window.hasNewer ? words.behind : words.live}
          </p>
        )}
      </div>
    </>
  );
}

// --- use transcript

/** Lines of one answer. */
const PAGE = 100;
/** Between two looks while a worker is at work, milliseconds; events make it look sooner. */
const LOOK_MS = 2_000;
const NEWEST = { before: Number.MAX_SAFE_INTEGER } as const;

/**
 * The newest lines of a port's transcript, then what comes; `move` reads older ones, or the newest
 * again.
 */
function useTranscript(
  run: string,
  port: string,
  { member, search }: Pick<TranscriptFilter, "member" | "search">,
  isLive: boolean,
) {
  const { client } = useParts();
  const queries = useQueryClient();
  const queryKey = PLAN_KEYS.transcript(run, port, member, search);
  const shown = (): TranscriptWindow | undefined => queries.getQueryData(queryKey);

  const read = (bounds: Pick<TranscriptFilter, "before" | "after">, signal?: AbortSignal) =>
    client.plans.transcript(run, port, { member, search, limit: PAGE, ...bounds }, { signal });
  const newest = async (signal?: AbortSignal): Promise<TranscriptWindow> => {
    const { lines, hasMore } = await read(NEWEST, signal);
    return { lines, hasOlder: hasMore, hasNewer: false };
  };

  const transcript = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<TranscriptWindow> => {
      const before = shown();
      const last = before?.lines.at(-1);
      if (before === undefined || last === undefined) return newest(signal);
      if (before.hasNewer) return before;
      const { lines, hasMore } = await read({ after: last.id }, signal);
      // Older ones may have come meanwhile; a gap too long to fill begins anew.
      return hasMore ? newest(signal) : withNewer(shown() ?? before, lines);
    },
    refetchInterval: isLive ? LOOK_MS : false,
  });

  const move = useMutation({
    mutationFn: async (to: "older" | "newest") => {
      const first = shown()?.lines[0];
      if (to === "newest" || first === undefined) {
        queries.setQueryData(queryKey, await newest());
        return;
      }
      const { lines, hasMore } = await read({ before: first.id });
      queries.setQueryData<TranscriptWindow>(
        queryKey,
        (now) => now && withOlder(now, lines, hasMore),
      );
    },
  });

  return { transcript, move };
}
