import { type ProviderAnswer, type ProviderAsked, UnfriendlyProvider } from "@dure/testing";
import type { TestDatabase } from "../../src/durable/test-database.ts";
import type { Service } from "../../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";

/** Gives what a model answers to the nth request. */
export type Answer = (
  asked: ProviderAsked,
  round: number,
) => ProviderAnswer | Promise<ProviderAnswer>;

/** A service whose models are all at one provider, which keeps what it was asked. */
export interface ToldProvider extends AsyncDisposable {
  readonly asked: readonly ProviderAsked[];
  readonly provider: UnfriendlyProvider;
  /** Another process on the same database. */
  process(): Promise<TestEngine>;
}

export async function openProvider(
  answer: Answer,
  { model, service, database }: { model: string; service: Service; database: TestDatabase },
): Promise<ToldProvider> {
  const asked: ProviderAsked[] = [];
  const provider = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: (one) => {
      asked.push(one);
      return answer(one, asked.length);
    },
  });
  const connection = { apiKey: "k", baseUrl: `${provider.url}/v1` };
  return {
    asked,
    provider,
    process: () =>
      startTestEngine(service, {
        on: database,
        model,
        providers: { anthropic: connection, openai: connection },
      }),
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}
