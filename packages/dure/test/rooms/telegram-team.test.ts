// @module-tag slow
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createTelegramAdapter } from "@chat-adapter/telegram";
import { expect, onTestFinished, test } from "vitest";
import { chatPlatform, web } from "../../src/channels/index.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { eventually } from "../until.ts";
import { FakeTelegram, type FakeTelegramBot } from "./fake-telegram.ts";

/** A whole team on Telegram: its server takes the webhooks, its outbox posts. */

const ADMIN = "telegram-admin-token-0123456789";
const SECRET = "a-secret-of-telegram";

interface TelegramTeam {
  readonly telegram: FakeTelegram;
  readonly group: { readonly id: number };
  readonly ruda: FakeTelegramBot;
  readonly url: string;
}

async function telegramTeam(): Promise<TelegramTeam> {
  const telegram = await FakeTelegram.start();
  const group = telegram.addGroup("두레");
  const ruda = telegram.addBot("ruda_bot");
  const database = await testDatabase();
  const folder = await mkdtemp(path.join(tmpdir(), "dure-telegram-"));
  const options = defineTeam({
    name: "telegram",
    model: "offline:echo",
    agents: { ruda: { displayName: "루다", service: "desk", leads: true } },
    services: {
      desk: defineService({
        name: "desk",
        agents: {},
        flows: { DEFAULT: flow(async (turn) => turn.done({ message: "들었어요" })) },
      }),
    },
    rooms: {
      adapters: [
        web(),
        chatPlatform({
          name: "telegram",
          accounts: {
            ruda: () =>
              createTelegramAdapter({
                botToken: ruda.token,
                apiUrl: telegram.url,
                mode: "webhook",
                secretToken: SECRET,
                logger: QUIET,
              }),
          },
        }),
      ],
      channels: { general: { defaultAgent: "ruda", ids: { telegram: `telegram:${group.id}` } } },
    },
  });
  const environment = readEnvironment({
    DATABASE_URL: database.url,
    PORT: "0",
    DURE_TOKEN: ADMIN,
  });
  const team = await startTeam(await readTeam(options, folder), environment, {
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await team.stop();
    await telegram.stop();
    await database[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const { url } = team;
  telegram.setWebhook(ruda, SECRET, async (update) =>
    fetch(`${url}/v1/channels/telegram/webhook`, {
      method: "POST",
      headers: update.headers,
      body: await update.text(),
    }),
  );

  return { telegram, group, ruda, url };
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };

test("what a person says in a group or alone to a bot is answered there", async () => {
  const { telegram, group } = await telegramTeam();
  const minjun = telegram.addPerson("민준");

  await telegram.say(minjun, group, { text: "안녕" });
  await eventually(() => expect(telegram.shown(group.id)).toEqual(["안녕", "들었어요"]));
  await telegram.say(minjun, { id: minjun.id }, { text: "둘이서" });

  await eventually(() => expect(telegram.shown(minjun.id)).toEqual(["둘이서", "들었어요"]));
});

test("an answer whose arrival is not known is not posted twice: a person is asked", async () => {
  const { telegram, group, url } = await telegramTeam();
  telegram.fail("transient", { afterDoing: true });

  await telegram.say(telegram.addPerson("민준"), group, { text: "안녕" });

  await eventually(async () => {
    const answer = await fetch(`${url}/v1/escalations`, {
      headers: { authorization: `Bearer ${ADMIN}` },
    });
    expect(JSON.stringify(await answer.json())).toContain("DELIVERY_UNSURE");
  });
  expect(telegram.shown(group.id)).toEqual(["안녕", "들었어요"]);
});
