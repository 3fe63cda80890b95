import { Loader, SegmentedControl, TextInput } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { RunDetail, PlanPort } from "dure/client";
import { Suspense, useId, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { lazyPart } from "../lazy-part.ts";
import { lettersOf } from "../rooms/mention.ts";
import { BecauseLine } from "./because-words.tsx";
import { keepLooks, readRunLooks } from "./run-filters.ts";
import { criticalPathOf, levelsOf, markedOf, MAX_GRAPH } from "./port-order.ts";
import { Critical, PortState } from "./port-state.tsx";
import type { Sign, Signs } from "./signs.ts";
import { PortMark, toneOf } from "./status-mark.tsx";
import { useAddress } from "../use-address.ts";

const PortGraph = lazyPart("port-graph", async () => (await import("./port-graph.tsx")).PortGraph);

/**
 * The ports of a run: as a graph where there is room for one, else as a list by level. Either can
 * be chosen.
 */
export function RunPorts({
  run,
  signs,
  picked,
}: {
  run: RunDetail;
  signs: Signs;
  picked: string | undefined;
}): ReactNode {
  const text = useText();
  const words = text.plans.run;
  const { chosen: looks, set } = useAddress(readRunLooks);
  const isWide = useMediaQuery("(min-width: 48em)", true, { getInitialValueInEffect: false });
  const isTooMany = run.ports.length > MAX_GRAPH;
  const view = isTooMany ? "list" : (looks.view ?? (isWide ? "graph" : "list"));

  return (
    <section className="grow column" aria-label={words.graph}>
      <div className="toolbar between">
        <h2>{words.graph}</h2>
        {isTooMany ? (
          <p className="soft small">{words.tooMany({ count: run.ports.length })}</p>
        ) : (
          <SegmentedControl
            size="xs"
            aria-label={words.views.label}
            value={view}
            onChange={(next) => set({ view: next })}
            data={[
              { value: "graph", label: words.views.graph },
              { value: "list", label: words.views.list },
            ]}
          />
        )}
      </div>
      {view === "list" ? (
        <PortList run={run} signs={signs} picked={picked} />
      ) : (
        <Suspense fallback={<Loader type="dots" role="status" aria-label={text.plans.loading} />}>
          <PortGraph run={run} signs={signs} picked={picked} />
        </Suspense>
      )}
    </section>
  );
}

/** Ports beyond which they can be searched. */
const SEARCH_FROM = 8;

function Search({
  search,
  onSearch,
}: {
  search: string;
  onSearch: (search: string) => void;
}): ReactNode {
  const words = useText().plans.run;
  return (
    <TextInput
      size="sm"
      value={search}
      onChange={(event) => onSearch(event.currentTarget.value)}
      placeholder={words.findPorts}
      aria-label={words.findPorts}
      leftSection={<IconSearch size={15} />}
    />
  );
}

function PortList({
  run,
  signs,
  picked,
}: {
  run: RunDetail;
  signs: Signs;
  picked: string | undefined;
}): ReactNode {
  const text = useText();
  const words = text.plans.run;
  const [search, setSearch] = useState("");

  // Who needs whom stays as it was when the run began.
  const [{ levels, critical }] = useState(() => ({
    levels: levelsOf(run.ports),
    critical: markedOf(criticalPathOf(run.ports)),
  }));

  const byId = new Map(run.ports.map((port) => [port.id, port]));
  const wanted = lettersOf(search.trim());

  const fits = (id: string): boolean => {
    const port = byId.get(id)!;
    const said = `${wordsOf(port)} ${text.plans.portStatuses[port.status]}`;
    return wanted === "" || lettersOf(said).includes(wanted);
  };

  const shown = levels
    .map((ids, index) => ({ level: index + 1, ids, shown: ids.filter(fits) }))
    .filter((level) => level.shown.length > 0);

  return (
    <div className="stack loose">
      {run.ports.length >= SEARCH_FROM && <Search search={search} onSearch={setSearch} />}
      {shown.length === 0 && <p className="soft">{words.noPort}</p>}
      {shown.map(({ level, ids, shown: rows }) => (
        <Level
          key={level}
          title={words.level({ number: level })}
          facts={words.levelDone({
            done: ids.filter((id) => byId.get(id)!.status === "succeeded").length,
            all: ids.length,
          })}
        >
          {rows.map((id) => (
            <li key={id}>
              <PortRow
                run={run.id}
                port={byId.get(id)!}
                sign={signs[id]}
                isPicked={id === picked}
                isCritical={critical.has(id)}
                needs={byId.get(id)!.dependsOn.map((needed) => byId.get(needed)?.title ?? needed)}
              />
            </li>
          ))}
        </Level>
      ))}
    </div>
  );
}

function Level({
  title,
  facts,
  children,
}: {
  title: string;
  facts: string;
  children: ReactNode;
}): ReactNode {
  const heading = useId();
  return (
    <section aria-labelledby={heading} className="port-level stack">
      <h3 id={heading}>
        {title} <span className="soft small">{facts}</span>
      </h3>
      <ul className="tiles">{children}</ul>
    </section>
  );
}

function PortRow({
  run,
  port,
  sign,
  isPicked,
  isCritical,
  needs,
}: {
  run: string;
  port: PlanPort;
  sign: Sign | undefined;
  isPicked: boolean;
  isCritical: boolean;
  needs: readonly string[];
}): ReactNode {
  const words = useText().plans.run;
  return (
    <Link
      to="/plans/runs/$run/ports/$port"
      params={{ run, port: port.id }}
      search={keepLooks}
      className="port-row plain card stack"
      data-tone={toneOf(port.status)}
      data-picked={isPicked || undefined}
      aria-current={isPicked ? "page" : undefined}
    >
      <span className="port-row-head cluster">
        <strong>{port.title}</strong>
        {isCritical && <Critical />}
        <PortMark status={port.status} />
      </span>
      <PortState port={port} sign={sign} />
      {needs.length > 0 && (
        <span className="clamp meta">{words.needs({ titles: needs.join(", ") })}</span>
      )}
      {port.because !== null && (
        <span className="clamp meta">
          <BecauseLine because={port.because} />
        </span>
      )}
    </Link>
  );
}

function wordsOf({ id, title, goal, role, status, owns }: PlanPort): string {
  return [id, title, goal, role, status, ...owns].join(" ");
}
