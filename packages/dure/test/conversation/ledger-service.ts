import {
  defineService,
  flow,
  type HookHandler,
  type Service,
} from "../../src/engine/service/service.ts";

/** A hook that leaves nothing but a row, in the order of `at`. */
export const writeLedger: HookHandler = {
  transactional: true,
  handle: async (data, { key, session, tx }) => {
    await tx!.query(
      "insert into test_ledger (key, session, data, kind) values ($1, $2, $3, 'ledger')",
      [key, session, JSON.stringify(data)],
    );
  },
};

export const CREATE_LEDGER =
  "create table test_ledger (at serial, key text, session text, data jsonb, kind text)";

/**
 * Every turn has the hooks that its message names, such as `ledger mail ledger`; each carries its
 * position.
 */
export function ledgerService(
  options: Partial<Pick<Service, "hooks" | "afterTurn">> = {},
): Service {
  return defineService({
    name: "ledger",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({
          message: "ok",
          hooks: turn.message.split(" ").map((type, index) => ({ type, data: { index } })),
        }),
      ),
    },
    hooks: { ledger: writeLedger, ...options.hooks },
    ...(options.afterTurn && { afterTurn: options.afterTurn }),
  });
}
