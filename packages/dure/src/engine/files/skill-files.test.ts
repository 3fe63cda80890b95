import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { filesOfSkill, MOST_READ, readSkillFile, readSkills } from "./skill-files.ts";

const REFUNDS = `---
name: refunds
description: >-
  Decides whether a customer gets money back.
  Use when a customer asks for a refund.
license: MIT
compatibility: Needs the shop's tools
metadata:
  version: "1"
allowed-tools: Read
when_to_use: always
---

# Refunds

Read references/policy.md first.
`;

/** A folder with skills, gone at the end of the block. */
async function folderWith(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<AsyncDisposable & { folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure 기술 "));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const text = (lines: string): string => `---\n${lines}\n---\nDo it.`;

test("skills of the open format are read in the order of their names, with what is not of it", async () => {
  await using home = await folderWith({
    "skills/refunds/SKILL.md": REFUNDS,
    "skills/a-1/SKILL.md": text("name: a-1\ndescription: First."),
    "skills/drafts/notes.md": "no skill",
  });

  const skills = await readSkills(home.folder);

  expect(skills).toEqual([
    {
      ...{ name: "a-1", description: "First.", instructions: "Do it.", unknownKeys: [] },
      folder: path.join(home.folder, "skills/a-1"),
    },
    {
      name: "refunds",
      folder: path.join(home.folder, "skills/refunds"),
      description:
        "Decides whether a customer gets money back. Use when a customer asks for a refund.",
      compatibility: "Needs the shop's tools",
      instructions: "# Refunds\n\nRead references/policy.md first.",
      unknownKeys: ["when_to_use"],
    },
  ]);
  expect(await readSkills(path.join(home.folder, "elsewhere"))).toEqual([]);
});

test.each([
  ["no settings", "Do it.", /skills\/x\/SKILL\.md:1 .*does not begin with settings/],
  ["no name", text("description: x"), /SKILL\.md:2:1 name: .*lower-case/],
  [
    "the name of another folder",
    text("name: y\ndescription: x"),
    /:2:1 name: is another name.*: x$/m,
  ],
  ["a name with capitals", text("name: X\ndescription: x"), /name: .*lower-case letters/],
  ["a name with two hyphens", text("name: x--y\ndescription: x"), /name: .*single hyphens/],
  ["no description", text("name: x"), /description: is missing; allowed: a text of 1 to 1024/],
  [
    "a description that is too long",
    text(`name: x\ndescription: ${"x".repeat(1_025)}`),
    /:3:1 description: .*1 to 1024/,
  ],
  ["a text that is too long", text(`name: x\ndescription: x`) + "x".repeat(MOST_READ), /60000 are/],
])("a skill with %s is refused at its file and line", async (_, content, message) => {
  await using home = await folderWith({ "skills/x/SKILL.md": content });

  await expect(readSkills(home.folder)).rejects.toMatchObject({
    code: "SKILL_INVALID",
    message: expect.stringMatching(message),
  });
});

test("a team has at most 100 skills", async () => {
  const names = Array.from({ length: 101 }, (_, index) => `s${index}`);
  await using home = await folderWith(
    Object.fromEntries(
      names.map((name) => [`skills/${name}/SKILL.md`, text(`name: ${name}\ndescription: x`)]),
    ),
  );

  await expect(readSkills(home.folder)).rejects.toThrow("has 101 skills; 100 are allowed");
});

test("a long file of a skill is read in parts that cut no letter", async () => {
  const whole = "가나".repeat(15_000);
  await using home = await folderWith({
    "s/references/long.md": whole,
    "s/image.png": Uint8Array.of(255),
  });
  const skill = { name: "s", folder: path.join(home.folder, "s") };

  const first = await readSkillFile(skill, "references/long.md");
  const second = await readSkillFile(skill, "references/long.md", first.next);

  expect(first).toMatchObject({ bytes: 90_000, next: 60_000 });
  expect(second.next).toBeUndefined();
  expect(first.text + second.text).toBe(whole);
  await expect(readSkillFile(skill, "image.png")).rejects.toMatchObject({
    code: "SKILL_FILE_UNREADABLE",
  });
});

test("no path leads out of a skill's folder, and none to its hidden files or through a link", async () => {
  await using home = await folderWith({
    "team/.env": "KEY=secret",
    "team/skills/s/SKILL.md": "x",
    "team/skills/s/.env": "KEY=secret",
    "team/skills/s/references/policy.md": "14 days.",
    "team/skills/other/SKILL.md": "other",
    "outside/secret.md": "secret",
  });
  const folder = path.join(home.folder, "team/skills/s");
  await symlink(path.join(home.folder, "outside"), path.join(folder, "out"));
  await symlink(path.join(home.folder, "outside/secret.md"), path.join(folder, "secret.md"));
  await symlink(folder, path.join(home.folder, "linked"));
  const skill = { name: "s", folder };

  const refused = [
    ...["../other/SKILL.md", "../../.env", "references/../../other/SKILL.md", "./SKILL.md"],
    ...[".env", "references/../.env", "", "/", "references/", "references", "gone.md"],
    ...["out/secret.md", "secret.md", path.join(home.folder, "outside/secret.md")],
    ...["..\\other\\SKILL.md", "references/policy.md\0.txt"],
  ];
  for (const file of refused) {
    const read = await readSkillFile(skill, file).catch(({ code }: { code: string }) => code);
    expect([file, read]).toEqual([file, "SKILL_FILE_UNKNOWN"]);
  }

  expect(await filesOfSkill(skill)).toEqual({ files: ["references/policy.md"], isCut: false });
  const linked = { name: "s", folder: path.join(home.folder, "linked") };
  expect((await readSkillFile(linked, "references/policy.md")).text).toBe("14 days.");
});
