import type { ModelCall, ModelCallRecord, ModelRequest } from "./model.ts";
import type { Models } from "./models.ts";

/**
 * Asked before each call; throws what forbids it. `settle` hears what the call came to, and never
 * rejects.
 */
export type Pay = (
  request: ModelRequest,
  model: ModelCall,
  labels: Readonly<Record<string, string>>,
) => Promise<{ settle(record: ModelCallRecord): Promise<void> }>;

/**
 * The same models, where each call is paid for before it is made. An answer is given when its call
 * is settled.
 */
export function paidModels(models: Pick<Models, "resolve">, pay: Pay): Pick<Models, "resolve"> {
  return {
    resolve: (llm) => {
      const model = models.resolve(llm);
      return {
        ...model,
        stream: async (request, options = {}) => {
          const charged = await pay(request, model, options.labels ?? {});
          let settled: Promise<void> | undefined;
          const onRecord = (record: ModelCallRecord): void => {
            options.onRecord?.(record);
            settled = charged.settle(record);
          };
          try {
            return await model.stream(request, { ...options, onRecord });
          } finally {
            await settled;
          }
        },
      };
    },
  };
}
