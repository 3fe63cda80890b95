import type { ModelCall, ModelCallRecord, ModelRequest } from "./model.ts";
import type { Models } from "./models.ts";

/**
 * Called before each model call; throws if the call is forbidden. `settle` gets the outcome of the
 * call, and never rejects.
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
