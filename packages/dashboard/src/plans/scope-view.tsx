import { Link } from "@tanstack/react-router";
import type { PortDetail, PlanViolation, RunDetail } from "dure/client";
import { useId, type ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { whenOf } from "../when.ts";
import { keepLooks } from "./run-filters.ts";
import { dependentsOf } from "./port-order.ts";

/** What a port may touch, whom it needs, and where it went beyond. */
export function ScopeView({ run, port }: { run: RunDetail; port: PortDetail }): ReactNode {
  const text = useText();
  const words = text.plans.port;

  return (
    <div className="port-part stack loose">
      {port.violations.length > 0 && <Violations all={port.violations} />}
      <Paths title={words.owns} paths={port.owns} />
      <Paths title={words.tests} paths={port.tests} />
      <Paths
        title={words.reads}
        paths={port.reads ?? []}
        empty={port.reads === undefined ? words.readsByRole : words.none}
      />
      {port.grants.length > 0 && (
        <Paths
          title={words.grants}
          paths={port.grants.map(({ path, wants, by }) =>
            words.grantOf({ path, wants: words.wants[wants] ?? wants, who: by }),
          )}
        />
      )}
      <section>
        <h2>{words.acceptance}</h2>
        <pre tabIndex={0}>{[port.acceptance, port.check].filter(Boolean).join("\n")}</pre>
      </section>
      <Others title={words.needs} run={run} ids={port.dependsOn} />
      <Others title={words.neededBy} run={run} ids={dependentsOf(run.ports).get(port.id) ?? []} />
    </div>
  );
}

function Paths({
  title,
  paths,
  empty,
}: {
  title: string;
  paths: readonly string[];
  empty?: string;
}): ReactNode {
  const heading = useId();
  const text = useText();

  return (
    <section>
      <h2 id={heading}>{title}</h2>
      {paths.length === 0 ? (
        <p className="soft small">{empty ?? text.plans.port.none}</p>
      ) : (
        <ul className="small stack tight" aria-labelledby={heading}>
          {paths.map((path) => (
            <li key={path}>
              <code>{path}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Others({
  title,
  run,
  ids,
}: {
  title: string;
  run: RunDetail;
  ids: readonly string[];
}): ReactNode {
  const heading = useId();
  if (ids.length === 0) return null;

  const titles = new Map(run.ports.map((one) => [one.id, one.title]));

  return (
    <section>
      <h2 id={heading}>{title}</h2>
      <ul className="toolbar" aria-labelledby={heading}>
        {ids.map((id) => (
          <li key={id}>
            <Link
              to="/plans/runs/$run/ports/$port"
              params={{ run: run.id, port: id }}
              search={keepLooks}
            >
              {titles.get(id) ?? id}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Violations({ all }: { all: readonly PlanViolation[] }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const heading = useId();

  return (
    <section className="note bad">
      <h2 id={heading}>{`${words.violations} (${all.length})`}</h2>
      <ul className="stack" aria-labelledby={heading}>
        {all.map((one, index) => (
          <li className="stack tight small" key={index}>
            <code>{one.path}</code>
            <span>
              {[
                words.members[one.member],
                words.wants[one.wanted],
                words.reasons[one.because] ?? one.because,
                words.violationFound[one.found],
                words.tryTitle({ number: one.try }),
                whenOf(one.at, language),
              ].join(" · ")}
            </span>
            {one.detail !== null && <span className="soft">{one.detail}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
