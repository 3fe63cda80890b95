import { Loader, NativeSelect } from "@mantine/core";
import type { ContextManifest, PortDetail, PlanStep } from "dure/client";
import { useState, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { ServerWords } from "../coded.tsx";
import { useLanguage, useText } from "../language.tsx";
import { useManifest } from "./use-plans.ts";

/** What a worker was given to know, in its parts, against what everything would have cost. */
export function ManifestView({ run, port }: { run: string; port: PortDetail }): ReactNode {
  const text = useText();
  const words = text.plans.port;
  const steps = port.steps
    .filter(({ member }) => member !== null)
    .toSorted((a, b) => b.startedAt - a.startedAt);
  const [picked, setPicked] = useState<number>();
  const step = steps.find(({ id }) => id === picked) ?? steps[0];
  const manifest = useManifest(run, port.id, step?.id);
  if (step === undefined) return <p className="soft port-part stack loose">{words.noManifest}</p>;

  const nameOf = ({ try: number, kind, member }: PlanStep): string =>
    [words.tryTitle(number), words.steps[kind], words.members[member ?? ""]].join(" · ");

  return (
    <div className="port-part stack loose">
      {steps.length > 1 && (
        <NativeSelect
          size="sm"
          label={words.manifestOf}
          value={String(step.id)}
          onChange={(event) => setPicked(Number(event.currentTarget.value))}
          data={steps.map((one) => ({ value: String(one.id), label: nameOf(one) }))}
        />
      )}
      {manifest.isPending && <Loader type="dots" role="status" aria-label={text.plans.loading} />}
      {manifest.error !== null && (
        <Problem error={manifest.error} onRetry={() => void manifest.refetch()} />
      )}
      {manifest.data !== undefined && <Manifest manifest={manifest.data} />}
    </div>
  );
}

function Manifest({ manifest }: { manifest: ContextManifest }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const { blocks, total, fullContext, saved } = manifest;
  const given = fullContext === 0 ? 100 : Math.min(100, Math.round((total / fullContext) * 100));

  return (
    <>
      <div className="stack">
        <p>
          <strong>{words.saved(Math.round(saved * 100))}</strong>
        </p>
        <div className="track" role="img" aria-label={words.context(total, fullContext)}>
          <span style={{ inlineSize: `${given}%` }} />
        </div>
        <p className="soft small">{words.context(total, fullContext)}</p>
      </div>
      <div className="table-room" tabIndex={0} role="group" aria-label={words.tabs.context}>
        <table className="mode-table small">
          <thead>
            <tr>
              <th scope="col">{words.block}</th>
              <th scope="col" className="number">
                {words.tokens}
              </th>
            </tr>
          </thead>
          <tbody>
            {blocks.map((block, index) => (
              <tr key={index}>
                <th scope="row">
                  {words.blocks[block.code ?? block.name] ?? (
                    <ServerWords>{block.name}</ServerWords>
                  )}
                  {block.path !== undefined && (
                    <>
                      {" "}
                      <code>{block.path}</code>
                    </>
                  )}
                  {"form" in block && typeof block.form === "string" && (
                    <span className="soft"> {words.forms[block.form] ?? block.form}</span>
                  )}
                </th>
                <td className="number">{block.tokens.toLocaleString(language)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
