import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { RunDetail, RunReport } from "dure/client";
import { useId, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { BecauseWords } from "./because-words.tsx";
import { DiffView } from "./diff-view.tsx";
import { keepLooks } from "./run-filters.ts";

/** What came of a run: what is in the result, what is not and why, and how the whole tree did. */
export function MergeReport({ run, report }: { run: RunDetail; report: RunReport }): ReactNode {
  const text = useText();
  const words = text.plans.run;
  const heading = useId();
  const titles = new Map(run.ports.map(({ id, title }) => [id, title]));
  const titleOf = (id: string): string => titles.get(id) ?? id;
  const { kept, missing, conflicts, integration, shared = [] } = report;
  return (
    <section className="run-report" aria-labelledby={heading}>
      <h2 id={heading}>{words.report}</h2>
      {integration !== undefined && (
        <div className="report-part">
          <p className="report-verdict" data-tone={integration.passed ? "good" : "bad"}>
            {integration.passed ? (
              <IconCircleCheck size={16} aria-hidden />
            ) : (
              <IconCircleX size={16} aria-hidden />
            )}
            <span>
              {words.integration}:{" "}
              {integration.passed
                ? words.integrationPassed
                : words.integrationFailed(String(integration.exitCode ?? words.noCode))}
            </span>
          </p>
          {integration.blamed !== undefined && integration.blamed.length > 0 && (
            <p className="small">{words.blamed(integration.blamed.map(titleOf).join(", "))}</p>
          )}
          {integration.output !== "" && (
            <details className="plan-details" open={!integration.passed}>
              <summary>{words.output}</summary>
              <pre tabIndex={0}>{integration.output}</pre>
            </details>
          )}
        </div>
      )}
      <div className="report-part">
        <h3>{`${words.kept} (${kept.length})`}</h3>
        {kept.length === 0 ? (
          <p className="soft small">{words.keptNone}</p>
        ) : (
          <ul className="report-kept">
            {kept.map((id) => (
              <li key={id}>
                <Link
                  to="/plans/runs/$run/ports/$port"
                  params={{ run: run.id, port: id }}
                  search={keepLooks}
                >
                  {titleOf(id)}
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
      {missing.length > 0 && (
        <div className="report-part">
          <h3>{`${words.missing} (${missing.length})`}</h3>
          <ul className="report-missing">
            {missing.map(({ port, because }) => (
              <li key={port}>
                <Link
                  to="/plans/runs/$run/ports/$port"
                  params={{ run: run.id, port }}
                  search={keepLooks}
                >
                  {titleOf(port)}
                </Link>
                <span>
                  <BecauseWords because={because} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {shared.length > 0 && (
        <div className="report-part">
          <h3>{`${words.shared} (${shared.length})`}</h3>
          <ul className="report-missing">
            {shared.map(({ path, ports, applied }) => (
              <li key={path}>
                <code>{path}</code>
                <span>
                  {ports.map(titleOf).join(", ")} ·{" "}
                  {applied ? words.sharedApplied : words.sharedLeft}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {report.commit !== undefined && run.cleanedAt === null && <Changes run={run.id} />}
      {conflicts.length > 0 && (
        <div className="report-part">
          <h3>{`${words.conflicts} (${conflicts.length})`}</h3>
          <ul className="report-missing">
            {conflicts.map(({ path, ports, solvedBy }) => (
              <li key={path}>
                <code>{path}</code>
                <span>
                  {ports.map(titleOf).join(", ")} ·{" "}
                  {solvedBy === undefined
                    ? words.unsolved
                    : words.solvedBy(text.plans.port.members[solvedBy] ?? solvedBy)}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

/** Everything that the result changes, read when it is asked for. */
function Changes({ run }: { run: string }): ReactNode {
  const words = useText().plans.run;
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="plan-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.changes}</summary>
      {isOpen && <DiffView run={run} />}
    </details>
  );
}
