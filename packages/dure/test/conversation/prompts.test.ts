import { FULL } from "../../src/kernel/test-tiers.ts";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { offlineModel } from "dure";
import { readEnvironment, readTeam, silentLogger, startTeam } from "dure/team";
import { expect, test } from "vitest";
import { roomModel } from "../../../../examples/meeting-room/offline.ts";
import rooms from "../../../../examples/meeting-room/service.ts";
import { PROMPTS } from "../../../../examples/transfer/prompts.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { estimateTokens } from "../../src/models/prices.ts";
import { languageOf } from "../../src/models/prompt-files.ts";

/** By `estimateTokens`, which counts a Hangul syllable as one token. */
const MOST_TOKENS = {
  intent: { ko: 200, en: 150 },
  interaction: { ko: 260, en: 190 },
} as const satisfies Record<keyof typeof PROMPTS, { ko: number; en: number }>;

const EACH = Object.entries(MOST_TOKENS).flatMap(([name, most]) =>
  Object.entries(most).map(([language, tokens]) => ({ name, language, tokens })),
);

test.each(EACH)(
  "the transfer's prompt $name speaks $language alone, in less than $tokens tokens",
  ({ name, language, tokens }) => {
    const text = PROMPTS[name as keyof typeof PROMPTS][language as "ko" | "en"];

    expect(estimateTokens(text)).toBeLessThan(tokens);
    expect(languageOf(text)).toBe(language);
  },
);

test(
  "a file of the team's folder prompts goes before dure's, in its language alone",
  FULL,
  async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(path.join(tmpdir(), "dure-prompts-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(path.join(folder, "prompts"));
    await writeFile(path.join(folder, "prompts/slots.ko.md"), "우리 말로 읽어요. {{slots}}");
    const asked: string[] = [];
    const own = offlineModel("own", (request, context) => {
      asked.push(request.system ?? "");
      return roomModel.respond(request, context);
    });
    const { url } = stack.use(await testDatabaseUrl());
    const environment = { ...readEnvironment({ PORT: "0", DATABASE_URL: url }), home: folder };
    const read = await readTeam(
      { services: { "meeting-room": rooms }, offlineModels: [own] },
      folder,
    );
    const team = await startTeam(read, environment, { logger: silentLogger });
    stack.defer(() => team.stop());

    const say = (message: string, locale: string) =>
      team.engine.turn({ session: locale, message, locale }).done;
    const korean = await say("내일 오후 3시에 소회의실 5명 예약해줘", "ko");
    const english = await say("Book the small room tomorrow at 3pm for 5", "en");

    expect([korean.nextAction, english.nextAction]).toEqual(["CONFIRM", "CONFIRM"]);
    expect(asked.filter((system) => system.startsWith("우리 말로 읽어요. - room"))).toHaveLength(1);
  },
);
