import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { strictFetch } from "@dure/testing";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { parseCard } from "./card.ts";
import type { ModelCall, ModelRequest } from "./model.ts";
import type { ModelObject } from "./model-object.ts";
import { Models } from "./models.ts";
import type { OfflineModel } from "./offline.ts";

/** Models of each provider as the AI SDK's own packages make them, with another `fetch`. */
function modelsOfEveryProvider(fetch: typeof globalThis.fetch): readonly ModelObject[] {
  const apiKey = "k";
  const openai = createOpenAI({ apiKey, fetch });
  const google = createGoogle({ apiKey, fetch });

  return [
    createAnthropic({ apiKey, fetch })("claude-haiku-4-5"),
    openai.chat("gpt-5-mini"),
    openai.responses("gpt-5-mini"),
    google("gemini-2.5-flash"),
    google("gemini-3-pro-preview"),
  ];
}

/** The same, to be called. */
function callsOfEveryProvider(fetch: typeof globalThis.fetch): readonly ModelCall[] {
  const models = new Models({ clock: systemClock, logger: silentLogger });
  return modelsOfEveryProvider(fetch).map((model) => models.resolve(parseCard({ model }).llm!));
}

const EVERY = callsOfEveryProvider(strictFetch());

/** What providers say to a request that they refuse; all of them take it: nothing. */
export async function refusalsOf(request: ModelRequest): Promise<readonly string[]> {
  const refusals = EVERY.map((call) =>
    call.stream(request).then(
      () => [],
      (error: unknown) => [`${call.provider}:${call.model} ${String(error)}`],
    ),
  );

  return (await Promise.all(refusals)).flat();
}

/** Requests of a model that are looked at: the first ones, and then one of so many. */
export interface HeldRequests {
  readonly first: number;
  readonly every: number;
}

const HELD: HeldRequests = { first: 20, every: 20 };

/** The same model, of which requests are held against the rules of every provider. */
export function heldModel(
  model: OfflineModel,
  refusals: Promise<readonly string[]>[],
  { first, every }: HeldRequests = HELD,
): OfflineModel {
  let asked = 0;
  return {
    ...model,
    name: model.name,
    respond: (request, context) => {
      asked += 1;
      // It is not waited for: tests measure how long a model takes.
      if (asked <= first || asked % every === 0) refusals.push(refusalsOf(request));
      return model.respond(request, context);
    },
  };
}

/** OpenAI's responses and Gemini at the address of a double. */
export function modelsAt(url: string): readonly ModelObject[] {
  const apiKey = "k";

  return [
    createOpenAI({ apiKey, baseURL: `${url}/v1` }).responses("gpt-5-mini"),
    createGoogle({ apiKey, baseURL: `${url}/v1beta` })("gemini-3-pro-preview"),
  ];
}
