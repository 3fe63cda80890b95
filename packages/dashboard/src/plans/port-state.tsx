import { IconAlertTriangle, IconClock, IconFlag3 } from "@tabler/icons-react";
import type { PlanPort } from "dure/client";
import type { ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { roundSpanOf, whenOf } from "../when.ts";
import { shareOf, stalledFor, tryOf, waitsOf, type Sign, type Waits } from "./signs.ts";
import { Bar, toneOf } from "./status-mark.tsx";
import { useServerNow } from "../server-clock.ts";

/** The longest way runs through this port: said, not only coloured. */
export function Critical(): ReactNode {
  return (
    <span className="badge good">
      <IconFlag3 size={13} aria-hidden />
      {useText().plans.run.critical}
    </span>
  );
}

/** What a port waits for of its worker's provider, and until when. */
export function Waiting({
  waits,
  isShort = false,
}: {
  waits: Waits;
  /** In a box of the graph: its line is narrow. */
  isShort?: boolean;
}): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.run;
  const when = waits.until === null ? "" : whenOf(waits.until, language);
  return (
    <span className="row tight inline strong">
      <IconClock size={13} aria-hidden />
      {isShort
        ? words.waitsShort({ status: null, ...waits, when })
        : words.waits({ status: null, ...waits, when })}
    </span>
  );
}

/** Which try, how far, how many tokens; and when a worker says nothing any more. */
export function PortState({ port, sign }: { port: PlanPort; sign: Sign | undefined }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.run;
  const isRunning = port.status === "running";
  const now = useServerNow(isRunning);
  const silent = stalledFor(port, sign, now);
  const waits = waitsOf(port, sign);
  // Signs of its workers are counted in its row.
  const tokens = port.tokensIn + port.tokensOut;
  const share = shareOf(port, sign);
  const { number, most } = tryOf(port, sign);

  return (
    <span className="port-state stack tight">
      <Bar
        share={share}
        label={`${port.title}: ${text.plans.progress}`}
        tone={toneOf(port.status)}
      />
      <span className="port-state-facts meta cluster baseline">
        <span>{number === 0 ? words.triesMost({ most }) : words.tryOf({ number, most })}</span>
        {waits === undefined ? (
          <>
            {isRunning && sign?.kind !== undefined && (
              <span>{text.plans.port.steps[sign.kind]}</span>
            )}
            {tokens > 0 && <span>{words.tokensShort({ count: tokens })}</span>}
          </>
        ) : (
          <Waiting waits={waits} isShort />
        )}
        {silent !== undefined && (
          <span className="row tight inline strong warn">
            <IconAlertTriangle size={13} aria-hidden />
            {words.stalled({ span: roundSpanOf(silent, language) })}
          </span>
        )}
      </span>
    </span>
  );
}
