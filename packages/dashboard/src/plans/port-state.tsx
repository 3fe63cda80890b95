import { IconAlertTriangle, IconClock, IconFlag3 } from "@tabler/icons-react";
import type { PlanPort } from "dure/client";
import type { ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { roundSpanOf, whenOf } from "../when.ts";
import { shareOf, stalledFor, tryOf, waitsUntil, type Sign } from "./signs.ts";
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

/** That a port waits for the provider of its worker, and until when. */
export function Waiting({ until }: { until: number }): ReactNode {
  const { text, language } = useLanguage();
  return (
    <span className="row tight inline strong">
      <IconClock size={13} aria-hidden />
      {text.plans.run.waitsUntil(whenOf(until, language))}
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
  const until = waitsUntil(port, sign);
  const tokens = port.tokensIn + port.tokensOut + (isRunning ? (sign?.tokens ?? 0) : 0);
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
        <span>{number === 0 ? words.triesMost(most) : words.tryOf(number, most)}</span>
        {isRunning && sign?.kind !== undefined && <span>{text.plans.port.steps[sign.kind]}</span>}
        {tokens > 0 && <span>{words.tokensShort(tokens)}</span>}
        {until !== undefined && <Waiting until={until} />}
        {silent !== undefined && (
          <span className="row tight inline strong warn">
            <IconAlertTriangle size={13} aria-hidden />
            {words.stalled(roundSpanOf(silent, language))}
          </span>
        )}
      </span>
    </span>
  );
}
