import type { Locale } from "../kernel/locales.ts";
import type { Database } from "../durable/database.ts";
import { raiseEscalations, settleEscalation } from "../escalations/inbox.ts";
import type { NewEscalation } from "../kernel/escalation.ts";
import type { ModelOutage } from "../models/outages.ts";
import { localeOf } from "./texts.ts";

/** Wakes the turns that wait for a model, in every process. */
export const RETRY_MODELS_TOPIC = "retry-models";

/** What escalations about a model that is away are about; their subjects begin with it. */
export const MODEL_AWAY = "model:away";

const WORDS = {
  ko: (model: string) => ({
    title: `${model} 모델에 연결되지 않아요.`,
    description:
      "이 모델을 쓰는 일은 기다렸다가 연결되면 이어져요. 오래가면 공급자의 상태 페이지와 사용 한도를 확인해 주세요.",
    label: "지금 다시 시도",
  }),
  en: (model: string) => ({
    title: `The model ${model} cannot be reached.`,
    description:
      "Work that needs it waits and goes on when it is back. If this lasts, look at the provider's status page and at your limits.",
    label: "Retry now",
  }),
} as const satisfies Record<
  Locale,
  (model: string) => { title: string; description: string; label: string }
>;

/** One escalation for each model that is away, closed when it answers again. */
export function outageReports(
  database: Database,
  locale: string,
): {
  onBegin: (outage: ModelOutage) => Promise<void>;
  onEnd: (outage: ModelOutage) => Promise<void>;
} {
  return {
    onBegin: async (outage) => {
      await database.transaction(async (tx) => {
        const recent = await tx.query(RECENT, [subjectOf(outage)]);
        if (recent.length === 0) await raiseEscalations(tx, [escalationOf(outage, locale)]);
      });
    },
    onEnd: async (outage) => {
      await settleEscalation(database, subjectOf(outage), { by: "dure", value: "back" });
    },
  };
}

function subjectOf({ model }: Pick<ModelOutage, "model">): string {
  return `${MODEL_AWAY}:${model}`;
}

function escalationOf({ model, code }: ModelOutage, locale: string): NewEscalation {
  const { title, description, label } = WORDS[localeOf(locale)](model);
  return {
    subject: subjectOf({ model }),
    type: "blocked",
    severity: "high",
    title,
    description,
    context: { about: MODEL_AWAY, model, code },
    suggestedActions: [{ value: "retry", code: "retry", label, style: "primary" }],
  };
}

/** A model that goes and comes is told of once in an hour. */
const RECENT = {
  name: "model.away_recently",
  text: `
    select id
    from dure.escalations
    where subject = $1 and created_at > clock_timestamp() - interval '1 hour'
    limit 1`,
};
