import { IconCheck } from "@tabler/icons-react";
import type { JsonObject, SlotInfo } from "dure/client";
import type { ReactNode } from "react";
import { moneyOf, shownFact } from "../fact-words.ts";
import { Facts } from "../facts.tsx";
import { useLanguage } from "../language.tsx";
import { momentOf } from "../when.ts";

/** What was done, as it is kept: to whom and how much first, then the rest line by line. */
export function ReceiptCard({
  receipt,
  at,
  slots,
}: {
  receipt: JsonObject;
  at: number | undefined;
  slots: readonly SlotInfo[];
}): ReactNode {
  const speaking = useLanguage();
  const { text, language } = speaking;
  const { status, target, amount, currency, ...rest } = receipt;
  const state = shownFact("status", status, speaking);

  return (
    <article className="receipt-card card" aria-label={text.chat.receipt}>
      <header className="row small">
        <span className="mark good">
          <IconCheck size={15} stroke={2.4} aria-hidden />
        </span>
        <span className="strong">{text.chat.receipt}</span>
        {state !== "" && <span className="end strong good-words">{state}</span>}
      </header>
      {typeof amount === "number" && (
        <p className="receipt-amount cluster baseline between">
          {typeof target === "string" && <span>{target}</span>}
          <strong>
            {moneyOf(amount, language, typeof currency === "string" ? currency : undefined)}
          </strong>
        </p>
      )}
      <Facts
        value={{
          target: typeof amount === "number" ? undefined : (target ?? null),
          ...rest,
          received_at: at === undefined ? undefined : momentOf(at, language),
        }}
        slots={slots}
      />
    </article>
  );
}
