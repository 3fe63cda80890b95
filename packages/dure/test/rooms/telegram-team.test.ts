// @module-tag slow
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createTelegramAdapter } from "@chat-adapter/telegram";
import { describe, expect, onTestFinished, test } from "vitest";
import { chatPlatform, web } from "../../src/channels/index.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam, type RunningTeam } from "../../src/team/start.ts";
import { eventually } from "../until.ts";
import { FakeTelegram, type FakeTelegramBot } from "./fake-telegram.ts";

/** A whole team on Telegram: its server takes the webhooks, its outbox posts. */

const ADMIN = "telegram-admin-token-0123456789";
const SECRET = "a-secret-of-telegram";
/** A dead process is noticed after 6 s; its work begins again soon after. */
const TAKEN_OVER = { patienceMs: boundMs(15_000) };

type Answer = () => Promise<string>;

class TelegramTeam implements AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly group: { readonly id: number };
  readonly ruda: FakeTelegramBot;
  readonly database: TestDatabase;
  readonly #folder: string;
  readonly #processes: RunningTeam[] = [];

  private constructor(telegram: FakeTelegram, database: TestDatabase, folder: string) {
    this.telegram = telegram;
    this.group = telegram.addGroup("두레");
    this.ruda = telegram.addBot("ruda_bot");
    this.database = database;
    this.#folder = folder;
  }

  static async create(): Promise<TelegramTeam> {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-telegram-"));
    return new TelegramTeam(await FakeTelegram.start(), await testDatabase(), folder);
  }

  /** One more process of the team. */
  async start(
    hears: "webhook" | "polling" = "webhook",
    answer: Answer = async () => "들었어요",
  ): Promise<RunningTeam> {
    const { telegram, ruda, group, database } = this;
    const heard =
      hears === "polling"
        ? { mode: hears, longPolling: { timeout: 1, retryDelayMs: 10 } }
        : { mode: hears, secretToken: SECRET };
    const options = defineTeam({
      name: "telegram",
      model: "offline:echo",
      agents: { ruda: { displayName: "루다", service: "desk", leads: true } },
      services: {
        desk: defineService({
          name: "desk",
          agents: {},
          flows: { DEFAULT: flow(async (turn) => turn.done({ message: await answer() })) },
        }),
      },
      rooms: {
        adapters: [
          web(),
          chatPlatform({
            name: "telegram",
            hears,
            accounts: {
              ruda: () =>
                createTelegramAdapter({
                  botToken: ruda.token,
                  apiUrl: telegram.url,
                  logger: QUIET,
                  ...heard,
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
    const team = await startTeam(await readTeam(options, this.#folder), environment, {
      logger: silentLogger,
    });
    this.#processes.push(team);
    return team;
  }

  /** What stands before the processes: each update goes to all that are given, in their order. */
  route(...teams: readonly RunningTeam[]): void {
    this.telegram.setWebhook(this.ruda, SECRET, async (update) => {
      const body = await update.text();
      const answers = teams.map((team) =>
        fetch(`${team.url}/v1/channels/telegram/webhook`, {
          method: "POST",
          headers: update.headers,
          body,
        }),
      );
      return (await Promise.all(answers))[0]!;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const team of this.#processes) await team.stop();
    await this.telegram.stop();
    await this.database[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function telegramTeam(): Promise<TelegramTeam & { readonly url: string }> {
  const made = await TelegramTeam.create();
  onTestFinished(() => made[Symbol.asyncDispose]());
  const team = await made.start();
  made.route(team);

  return Object.assign(made, { url: team.url });
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

describe("two processes of one team on Telegram", FULL, () => {
  test("an update that reaches both is answered once", async () => {
    const made = await TelegramTeam.create();
    onTestFinished(() => made[Symbol.asyncDispose]());
    made.route(await made.start(), await made.start());
    const minjun = made.telegram.addPerson("민준");

    for (const text of ["하나", "둘", "셋"]) {
      await made.telegram.say(minjun, made.group, { text });
      await eventually(() => expect(made.telegram.shown(made.group.id).at(-1)).toBe("들었어요"));
    }

    expect(made.telegram.shown(made.group.id)).toEqual(
      ["하나", "둘", "셋"].flatMap((text) => [text, "들었어요"]),
    );
  });

  test("what a process had taken when it was cut off is answered by the other, once", async () => {
    const made = await TelegramTeam.create();
    onTestFinished(() => made[Symbol.asyncDispose]());
    const late = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const first = await made.start("webhook", () => {
      begun.resolve();
      return late.promise;
    });
    made.route(first);
    await made.telegram.say(made.telegram.addPerson("민준"), made.group, { text: "안녕" });
    await begun.promise;
    made.route(await made.start());

    await made.database.database.query(CUT_OFF, [first.processId]);

    await eventually(
      () => expect(made.telegram.shown(made.group.id)).toEqual(["안녕", "들었어요"]),
      TAKEN_OVER,
    );
    late.resolve("늦은 답");
    await made.telegram.say(made.telegram.addPerson("서연"), made.group, { text: "또" });
    await eventually(() =>
      expect(made.telegram.shown(made.group.id)).toEqual(["안녕", "들었어요", "또", "들었어요"]),
    );
  });

  test("one of them asks the platform; after its end the other does, and repeats nothing", async () => {
    const made = await TelegramTeam.create();
    onTestFinished(() => made[Symbol.asyncDispose]());
    const minjun = made.telegram.addPerson("민준");
    const first = await made.start("polling", async () => "첫째가 들었어요");
    await made.telegram.say(minjun, made.group, { text: "하나" });
    await eventually(() =>
      expect(made.telegram.shown(made.group.id)).toEqual(["하나", "첫째가 들었어요"]),
    );
    await made.start("polling", async () => "둘째가 들었어요");

    await first.stop();
    await made.telegram.say(minjun, made.group, { text: "둘" });

    await eventually(
      () =>
        expect(made.telegram.shown(made.group.id)).toEqual([
          "하나",
          "첫째가 들었어요",
          "둘",
          "둘째가 들었어요",
        ]),
      TAKEN_OVER,
    );
  });
});

const CUT_OFF = {
  text: `
    update dure.processes
    set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
    where id = $1`,
};
