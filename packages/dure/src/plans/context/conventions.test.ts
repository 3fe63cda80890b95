import { expect, test } from "vitest";
import type { WorkerSpec } from "../plan.ts";
import type { ScopeInput } from "../scope.ts";
import { HEXAGONAL_CONTEXT } from "./context-scopes.ts";
import { guidesFor } from "./conventions.ts";
import { gatherFiles, type CommitFiles } from "./gather.ts";
import { buildPrompt } from "./prompt.ts";

const SKILL = "---\nname: release\ndescription: Makes a release.\n---\nSecret body of the skill.\n";
const FILES: Readonly<Record<string, string>> = {
  "AGENTS.md": "Run npm test before you end.\n",
  "src/AGENTS.md": "No default exports.\n",
  "src/core/AGENTS.md": "No classes in core.\n",
  "src/core/rules.ts": "export const rules = 1;\n",
  "secret/AGENTS.md": "Hidden words.\n",
  "skills/release/SKILL.md": SKILL,
  ".agents/skills/broken/SKILL.md": "no settings",
  ".claude/skills/own/SKILL.md": SKILL,
};

const commit: CommitFiles = {
  files: Object.entries(FILES).map(([path, text]) => ({ path, bytes: Buffer.byteLength(text) })),
  readFile: (path) => Promise.resolve(FILES[path]),
};

const scope: ScopeInput = {
  writes: ["src/core/**", "secret/**"],
  exceptions: ["secret/**"],
  reads: [],
  forbidden: ["secret/**"],
  contracts: [],
  readsVisible: true,
};

async function promptFor(kind: WorkerSpec["kind"], files = commit): Promise<string> {
  const context = HEXAGONAL_CONTEXT["domain"]!;
  const gathered = await gatherFiles({ scope, context, kind }, files);
  const task = { port: "a", title: "A", goal: "Do.", role: "domain", try: 1, tries: 1 };
  return buildPrompt({ kind, member: "implementer", task, scope, context, ...gathered }).prompt;
}

test("a model gets AGENTS.md of the root and the nearest one, and the skills of the repository", async () => {
  const prompt = await promptFor("model");

  expect(prompt).toMatch(
    /## Conventions\n[\s\S]*### AGENTS\.md\n[\s\S]*npm test[\s\S]*### src\/core\/AGENTS\.md\n[\s\S]*No classes[\s\S]*## Task/,
  );
  expect(prompt).toContain("- skills/release/SKILL.md: Makes a release.");
  expect(prompt).toContain("- .agents/skills/broken/SKILL.md: broken");
  for (const words of ["No default exports", "Secret body", "Hidden words", ".claude/skills"]) {
    expect(prompt).not.toContain(words);
  }
  expect(prompt.split("npm test before")).toHaveLength(2);
});

test.each(["acp", "command"] as const)(
  "a worker of kind %s, which reads files itself, is told their names and not their text",
  async (kind) => {
    const prompt = await promptFor(kind);

    expect(prompt).toMatch(
      /do not have them already:\n- AGENTS\.md\n- src\/core\/AGENTS\.md\n\n[^\n]*\n- \.agents\/skills\/broken\/SKILL\.md\n- skills\/release\/SKILL\.md\n/,
    );
    expect(prompt).not.toMatch(/npm test before|Makes a release|Hidden words/);
  },
);

test("a long AGENTS.md is cut, and a repository without conventions has no such block", async () => {
  const long = "One more rule of many.\n".repeat(2_000);
  const readFile = (path: string) => Promise.resolve(path === "AGENTS.md" ? long : FILES[path]);
  const none: CommitFiles = { files: [{ path: "src/core/a.ts", bytes: 1 }], readFile };

  const cut = await promptFor("model", { ...commit, readFile });

  expect(cut).toContain("### AGENTS.md, its beginning");
  expect(cut.split("One more rule").length).toBeLessThan(700);
  expect(await promptFor("model", none)).not.toContain("## Conventions");
});

test("the nearest AGENTS.md above each owned path counts, after the root's", () => {
  const there = new Set(["AGENTS.md", "a/AGENTS.md", "b/c/AGENTS.md", "b/c/d/e/AGENTS.md"]);

  expect(guidesFor(["a/x/y/**", "b/c/d/*.ts", "z/**", "README.md"], there)).toEqual([
    "AGENTS.md",
    "a/AGENTS.md",
    "b/c/AGENTS.md",
  ]);
  expect(guidesFor(["**"], new Set(["a/AGENTS.md"]))).toEqual([]);
});
