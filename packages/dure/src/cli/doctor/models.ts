import { chooseLlm } from "../../engine/agent/agent-model.ts";
import { ownLeavesOf } from "../../engine/service/combine.ts";
import { systemClock } from "../../kernel/clock.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { modelName, parseModelName } from "../../models/card.ts";
import type { LlmRef, OutputSpec } from "../../models/model.ts";
import { Models } from "../../models/models.ts";
import { NO_MODEL } from "../../models/no-model.ts";
import type { OutputFormat } from "../../models/output-format.ts";
import { agentServices } from "../../team/agents.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { offlineModelsOf } from "../../team/offline-models.ts";
import { everyModelOf, modelOf, pricesOf, providersOf } from "../../team/limits.ts";
import { failed, type Finding } from "./finding.ts";

/**
 * Each model is asked a real question, so that a wrong key, name or address shows here and not in
 * the first conversation.
 */
export async function checkModels(team: LoadedTeam, environment: Environment): Promise<Finding[]> {
  const models = new Models({
    clock: systemClock,
    logger: silentLogger,
    providers: providersOf(environment),
    prices: pricesOf(team.config),
    offline: offlineModelsOf(team.config),
  });
  try {
    const used = await modelsOf(team, environment);
    return await Promise.all(
      [...used].map(([name, { llm, agents }]) =>
        checkModel(models, { llm, usedBy: `${name}, used by ${agents.join(", ")}` }),
      ),
    );
  } catch (error) {
    return [failed("agents", error)];
  }
}

/** Asks one model a real question, with the keys of `environment`. */
export async function tryModel(
  name: string,
  environment: Environment,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Finding> {
  const models = new Models({
    clock: systemClock,
    logger: silentLogger,
    providers: providersOf(environment),
    prices: {},
    offline: [],
  });

  return checkModel(models, { llm: parseModelName(name), usedBy: name, signal });
}

/** Longest wait for the answer of one model, milliseconds. */
const MODEL_WAIT = 5_000;
/**
 * Enough for a word; a model that thinks first answers nothing within it, which says as well that
 * it is there.
 */
const MODEL_TOKENS = 32;
/** Failures of a model that was reached, let us in, and knows its name. */
const REACHED = new Set(["MODEL_EMPTY", "MODEL_FORMAT", "MODEL_REFUSED"]);

/** Asked for as JSON at temperature 0, as an agent that decides asks. */
const MODEL_OUTPUT: OutputSpec = {
  schema: {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  },
};

/** What stands in where no model is set. */
const STAND_INS: ReadonlySet<string> = new Set(["offline:echo", `offline:${NO_MODEL}`]);

function noModel(usedBy: string): Finding {
  return {
    name: "model",
    status: "warn",
    detail: `${usedBy}: no model is set, so they say how to connect one`,
    hint: "Put ANTHROPIC_API_KEY or OPENAI_API_KEY into .env; the key alone is enough.",
  };
}

/** How each way of asking for JSON is told. */
const JSON_WAYS = {
  strict: "JSON in strict mode",
  json_schema: "JSON by a schema",
  tool: "JSON by a tool",
  json_object: "JSON without a schema",
  text: "JSON out of text",
} as const satisfies Record<OutputFormat, string>;

/** What the model turned out to take when it was asked. */
function abilitiesOf(models: Models, llm: LlmRef): string {
  const { format, hasTemperature } = models.wayOf(llm, MODEL_OUTPUT);
  const json = format === undefined ? undefined : JSON_WAYS[format];

  return [json, hasTemperature ? undefined : "no temperature"].filter(Boolean).join(", ");
}

async function checkModel(
  models: Models,
  { llm, usedBy, signal }: { llm: LlmRef; usedBy: string; signal?: AbortSignal | undefined },
): Promise<Finding> {
  try {
    const call = models.resolve(llm);
    if (STAND_INS.has(modelName(llm))) return noModel(usedBy);
    if (llm.provider === "offline") return { name: "model", status: "ok", detail: usedBy };
    await call.stream(
      {
        messages: [{ role: "user", text: "Say ok." }],
        output: MODEL_OUTPUT,
        temperature: 0,
        maxOutputTokens: MODEL_TOKENS,
      },
      { timeoutMs: MODEL_WAIT, signal },
    );
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "MODEL_TIMEOUT") {
      return {
        name: "model",
        status: "fail",
        detail: `${usedBy}: no answer within ${MODEL_WAIT / 1_000} s`,
        hint: "Finding the address and the connection; a slow model may still do.",
      };
    }
    if (code === "MODEL_RATE_LIMITED") {
      return {
        name: "model",
        status: "warn",
        detail: `${usedBy}: answers, but takes no more calls at the moment`,
        hint: "Wait, or raise the limit at the provider.",
      };
    }
    if (!REACHED.has(code)) {
      return { ...failed("model", error), detail: `${usedBy}: ${code} ${messageOf(error)}` };
    }
  }
  if (models.priceOf(llm) === undefined) {
    return {
      name: "model",
      status: "warn",
      detail: `${usedBy}: answers (${abilitiesOf(models, llm)}), but has no price, so it is counted in tokens`,
      hint: `Add prices: { "${modelName(llm)}": { in: …, out: … } } in USD per million tokens.`,
    };
  }

  return {
    name: "model",
    status: "ok",
    detail: `${usedBy}: answers (${abilitiesOf(models, llm)})`,
  };
}

/** Every model that an agent may call, fallbacks included; the same one at two addresses is two. */
async function modelsOf(
  team: LoadedTeam,
  environment: Environment,
): Promise<Map<string, { llm: LlmRef; agents: string[] }>> {
  const models = new Map<string, { llm: LlmRef; agents: string[] }>();
  const ofTeam = modelOf(team.config, environment);
  const services = [...Object.values(team.services), ...(await agentServices(team))];
  for (const service of ownLeavesOf(services)) {
    for (const [key, agent] of Object.entries(service.agents)) {
      const llm = chooseLlm(agent.card.llm, ofTeam, everyModelOf(environment));
      for (const ref of [llm, ...llm.fallbacks]) {
        const name =
          ref.baseUrl === undefined ? modelName(ref) : `${modelName(ref)} at ${ref.baseUrl}`;
        const known = models.get(name);
        if (known) known.agents.push(`${service.name}.${key}`);
        else models.set(name, { llm: ref, agents: [`${service.name}.${key}`] });
      }
    }
  }

  return models;
}
