import { LOCALES } from "../kernel/locales.ts";
import { mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { agentServices } from "../team/agents.ts";
import { loadTeam } from "../team/config.ts";
import { withSkills } from "../team/skills.ts";
import { newAgent, newSkill, newTool } from "./scaffold.ts";

const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/** A team without an agent, gone at the end of the block. */
async function newTeam(): Promise<AsyncDisposable & { folder: string }> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-new-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await writeFile(path.join(folder, "dure.yaml"), "name: demo\n");
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

test.each(LOCALES)(
  "an agent, a tool and a skill that were just made in %s work",
  async (locale) => {
    await using team = await newTeam();
    const options = { folder: team.folder, locale };
    const made = [
      await newAgent("mina", options),
      await newTool("greet", options),
      await newSkill("refunds", options),
    ];
    const [agent, tool] = made.map(({ file }) => file);
    const text = await readFile(agent!, "utf8");
    await writeFile(agent!, text.replace("# tools: [clock]", "tools: [clock, greet]"));

    const loaded = await loadTeam(team.folder);
    const [service] = (await agentServices(loaded)).map((one) => withSkills(one, loaded.skills));
    const { prompt, tools } = service!.agents["mina"]!;

    expect(service!.title).toBe("mina");
    expect(prompt).toContain("- `refunds`: ");
    expect(Object.keys(tools)).toEqual(["remember", "clock", "greet", "load_skill"]);
    expect(
      tools["greet"]!.execute({ name: "Seoyeon" }, undefined as never, undefined as never),
    ).toEqual({ greeting: expect.stringContaining("Seoyeon") });
    const texts = await Promise.all(made.map(({ file }) => readFile(file, "utf8")));
    expect(texts.map((one) => /[가-힣]/.test(one))).toEqual(texts.map(() => locale === "ko"));
    expect(texts.join("")).not.toMatch(/\{\{|TOOL_NAME/);
    expect(path.relative(team.folder, tool!)).toBe("tools/greet.ts");
  },
);

test("what is there already is not overwritten", async () => {
  await using team = await newTeam();
  const options = { folder: team.folder, locale: "en" } as const;
  const { file } = await newTool("greet", options);
  await newAgent("mina", options);
  await newSkill("refunds", options);
  await writeFile(file, "mine");

  await expect(newTool("greet", options)).rejects.toMatchObject({ code: "FILE_EXISTS" });
  await expect(newAgent("mina", options)).rejects.toMatchObject({ code: "FOLDER_NOT_EMPTY" });
  await expect(newSkill("refunds", options)).rejects.toMatchObject({ code: "FOLDER_NOT_EMPTY" });
  expect(await readFile(file, "utf8")).toBe("mine");
});

test.each([
  ["agent", newAgent, ["../out", "미나", " "]],
  ["tool", newTool, ["../out", "open-ticket", "1st", "class", "await", "collaborate", "clock"]],
  ["skill", newSkill, ["../out", "Refunds", "a--b", "-a", "x".repeat(65), "환불"]],
] as const)("a name that no %s can have writes nothing", async (_, make, names) => {
  await using team = await newTeam();

  for (const name of names) {
    const refused = await make(name, { folder: team.folder, locale: "en" }).catch(
      ({ code }: { code: string }) => code,
    );
    expect([name, refused]).toEqual([name, "NAME_INVALID"]);
  }
  expect((await readdir(team.folder)).toSorted()).toEqual(["dure.yaml", "node_modules"]);
});
