import { expect, onTestFinished } from "vitest";
import { Outbox } from "../../src/durable/outbox.ts";
import { joinTeam } from "../../src/durable/test-members.ts";
import { HookDelivery } from "../../src/engine/effects/hooks.ts";
import type { HookHandler } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { CREATE_LEDGER, ledgerService, writeLedger } from "../conversation/ledger-service.ts";
import type { Moment, Stage } from "./stage.ts";

/** A turn has three hooks; the second one writes, and its transaction meets the outage. */
export async function hookStage(moment: Moment): Promise<Stage> {
  const arrived: string[] = [];
  const mail: HookHandler["handle"] = async (_data, { key }) => void arrived.push(key);
  const ledger: HookHandler = {
    transactional: true,
    handle: async (data, context) => {
      await writeLedger.handle(data, context);
      await moment.at("hook");
    },
  };
  const service = ledgerService({ hooks: { mail, ledger } });
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const t = stack.use(await startTestEngine(service));
  await t.database.query({ text: CREATE_LEDGER });
  const us = stack.use(await joinTeam(t.url));
  const outbox = stack.use(new Outbox(us));
  const { logger, lease } = us;
  outbox.handle(
    "hook",
    new HookDelivery({ services: [service], logger, lease: lease.signal }).handler,
  );
  await moment.opened(t.url);
  let turn = "";

  return {
    run: async () => {
      ({ turnId: turn } = await t.say("mail ledger mail"));
      outbox.start();
      await moment.isOver;
      const states = async (): Promise<readonly string[]> => {
        const text = "select distinct state from dure.outbox";
        const rows = await t.database.query<{ state: string }>({ text });
        return rows.map(({ state }) => state);
      };
      await expect.poll(states, { timeout: 60_000 }).toEqual(["sent"]);
    },
    assertDone: async () => {
      const rows = await t.database.query({ text: "select key from test_ledger" });
      expect(rows).toEqual([{ key: `${turn}.1` }]);
      expect([...new Set(arrived)]).toEqual([`${turn}.0`, `${turn}.2`]); // at least once
    },
    assertHonest: async () => {
      expect(await t.database.query({ text: "select title from dure.escalations" })).toEqual([]);
    },
    excuse: async () => "",
    retry: async () => {},
  };
}
