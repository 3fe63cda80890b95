import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DureError, OfflineModel, Service } from "dure";
import { clockIn, parseDate, slot, type Locale, type SlotSpec } from "dure/slots";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestEngine, type TestEngine } from "../packages/dure/src/engine/test-engine.ts";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import type { Done } from "../packages/dure/src/kernel/turn-events.ts";
import {
  blocksOf,
  checkBlocks,
  exchangesOf,
  isModule,
  printedBy,
  readBlocks,
  wordOf,
  writePage,
  type CodeBlock,
} from "./guides.ts";
import { root, run } from "./processes.ts";

const BLOCKS = await readBlocks();
const PAGE = "docs/guides/slot-service.md";

/** A page with a fault, to see that faults are found, and where. */
const [FENCE, FAULT] = ["```", "const wrong: string = given;"];
const FAULTY = `# Page\n\n<!-- given\ndeclare const given: number;\n-->\n\n${FENCE}ts\n\n${FAULT}\n${FENCE}\n`;

/** One program of all that the doors lead to: seconds, on a busy machine many. */
const COMPILED = { ...FULL, timeout: 120_000 };

test("every TypeScript block of README and the guides compiles", COMPILED, () => {
  expect(BLOCKS.filter(isModule).length).toBeGreaterThan(20);

  expect(checkBlocks([...BLOCKS, ...blocksOf("docs/faulty.md", FAULTY)])).toEqual([
    "docs/faulty.md:9: Type 'number' is not assignable to type 'string'.",
  ]);
});

describe("the slot service of the guide", () => {
  let folder: string;
  let t: TestEngine;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "dure-guide-"));
    await writePage(BLOCKS, { page: PAGE, folder });
    const service = (await import(path.join(folder, "service.ts"))) as { default: Service };
    const offline = (await import(path.join(folder, "offline.ts"))) as {
      ordersModel: OfflineModel;
    };
    t = await startTestEngine(service.default, {
      offline: [offline.ordersModel],
      engine: { locale: "en", timeZone: ZONE },
    });
  });
  afterAll(async () => {
    await t?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const dialogues = BLOCKS.filter(({ page, words }) => page === PAGE && words.includes("dialogue"));

  test.each(dialogues)("answers as the page shows, line $line", async (dialogue) => {
    const shown = exchangesOf(dialogue).map(({ said, answered }) => ({
      said,
      answered: asOfToday(answered),
    }));
    const session = `line-${dialogue.line}`;
    const locale = wordOf(dialogue, "locale");

    const heard: (typeof shown)[number][] = [];
    for (const { said } of shown) {
      const { done } = await t.say(said, { session, locale });
      heard.push({ said, answered: shownAnswer(done) });
    }

    expect(heard).toEqual(shown);
  });
});

test.each(BLOCKS.filter(({ words }) => words.includes("run")))(
  "$page prints what it shows, line $line",
  FULL,
  async (block) => {
    expect(printedBy(block)).not.toBe("");

    expect(await printed(block)).toBe(printedBy(block));
  },
);

test("the guide names the options of each kind of slot, and the errors that it has", async () => {
  const page = await readFile(path.join(root, PAGE), "utf8");
  const rows = page.matchAll(/^\| `slot\.(\w+)` +\|(.*)\|(.*)\|$/gmu);
  const named = [...rows].map(([, kind, options, errors]) => [
    kind,
    { options: wordsIn(options), errors: wordsIn(errors) },
  ]);

  expect(Object.fromEntries(named)).toEqual(
    Object.fromEntries(Object.keys(slot).map((kind) => [kind, kindAsMade(kind as Kind)])),
  );
});

type Kind = keyof typeof slot;

/** Every kind has these; a page says them once. */
const SHARED =
  "required askOnce description needed identifies isAmount examples errors validate".split(" ");

/** The options of a kind as its refusal lists them, and the keys of its errors. */
function kindAsMade(kind: Kind): { readonly options: string[]; readonly errors: string[] } {
  const make = slot[kind] as (options: object) => SlotSpec;
  const options = { options: [{ value: "a", names: {} }] };
  const { errors } = make(kind === "choice" ? options : {});
  return {
    options: knownTo(() => make({ noSuchOption: 1 })).filter((one) => !SHARED.includes(one)),
    errors: Object.keys(errors?.en ?? {}),
  };
}

function knownTo(refused: () => unknown): string[] {
  try {
    refused();
  } catch (error) {
    const [, list = ""] = /Known are: (.*)\.$/u.exec((error as DureError).hint ?? "") ?? [];
    return list.split(", ");
  }
  throw new Error("it was not refused");
}

function wordsIn(cell = ""): string[] {
  return [...cell.matchAll(/`(\w+)`/gu)].map(([, word = ""]) => word);
}

/** The message, and its buttons in brackets. */
function shownAnswer({ message, uiHint }: Done): string {
  const buttons = (uiHint?.buttons ?? []).map((button) => `[${button}]`);
  return [message, ...buttons].join(" ");
}

const ZONE = "Asia/Seoul";

/** The page is written on 2026-11-23; the database that accepts a message knows no other day. */
function asOfToday(answer: string): string {
  const { today } = clockIn(ZONE, systemClock.now());
  const [tomorrow, fifth] = [dayNamed("tomorrow", today), dayNamed("December 5", today)];
  return answer
    .replaceAll("November 24, 2026", shownDay(tomorrow, "en"))
    .replaceAll("2026년 11월 24일(화)", shownDay(tomorrow, "ko"))
    .replaceAll("December 5, 2026", shownDay(fifth, "en"));
}

function dayNamed(words: string, today: string): string {
  const read = parseDate(words, { today });
  if (!read.ok) throw new Error(`${words} is no day`);
  return read.date;
}

function shownDay(date: string, locale: Locale): string {
  return slot.date().show?.(date, locale) ?? date;
}

async function printed(block: CodeBlock): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-guide-"));
  try {
    await writePage([block], { page: block.page, folder });
    const args = ["--conditions=dure-source", `${block.line}.ts`];
    return (await run(process.execPath, args, { cwd: folder })).output;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
