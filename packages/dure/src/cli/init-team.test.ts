import { LOCALES } from "../kernel/locales.ts";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { initTeam } from "./init-team.ts";

test.each(LOCALES)(
  "a new team in %s has a plan of its name, and no place left open",
  async (locale) => {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-init-team-"));
    try {
      const answers = { locale, begin: "plans" } as const;
      const { folder: team } = await initTeam("shop", { folder, version: "0.0.0", answers });
      const names = await readdir(team, { recursive: true, withFileTypes: true });
      const files = names
        .filter((one) => one.isFile())
        .map((one) => path.join(one.parentPath, one.name));
      const open = await Promise.all(
        files.map(async (file) => ({ file, text: await readFile(file, "utf8") })),
      );

      expect(parse(await readFile(path.join(team, "plans/first.yaml"), "utf8"))).toMatchObject({
        plan: "first",
      });
      expect(open.filter(({ text }) => /\{\s?\{\s?[A-Z_]+\s?\}\s?\}/.test(text))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test("a new team has its agents, prompts and plans in its language", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-init-team-"));
  try {
    const options = { folder, version: "0.0.0" };
    const inKorean: unknown[] = [];
    for (const locale of LOCALES) {
      const answers = { locale, begin: "plans" } as const;
      const { folder: team } = await initTeam(`team ${locale}`, { ...options, answers });
      for (const name of ["agents/mina/SOUL.md", "agents/theo/SOUL.md", "plans/first.yaml"]) {
        const text = await readFile(path.join(team, name), "utf8");
        if (/[가-힣]/.test(text)) inKorean.push(`${locale} ${name}`);
      }
    }

    expect(inKorean).toEqual([
      "ko agents/mina/SOUL.md",
      "ko agents/theo/SOUL.md",
      "ko plans/first.yaml",
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each([
  ["ko", "키 OPENAI_API_KEY는 .env에 있어요."],
  ["en", "Its key, OPENAI_API_KEY, stands in .env."],
] as const)(
  "a new team in %s with a provider says in its language where the key is",
  async (locale, words) => {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-init-team-"));
    try {
      const answers = { locale, begin: "chat", provider: "openai", key: "sk-test" } as const;
      const { folder: team } = await initTeam("shop", { folder, version: "0.0.0", answers });

      expect(await readFile(path.join(team, "dure.config.ts"), "utf8")).toContain(words);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
