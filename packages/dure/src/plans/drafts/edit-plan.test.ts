import { expect, test } from "vitest";
import { editPlan, portsIn } from "./edit-plan.ts";
import { notesIn, withoutNotes } from "./notes.ts";

const TEXT = `\
# Sessions end.
plan: sessions
roles: modules
workers: { default: { agent: claude } }
ports:
  # What a session is.
  - id: core
    role: core
    goal: Sessions end. # after a while
    owns: [src/core/**]
    acceptance: npm test
  - { id: api, role: api, depends_on: [core], owns: [src/api/**], goal: Say so., acceptance: "true" }
`;

test("what a person changes of a port stands in the text; all else stays as it was written", () => {
  const goal = "Sessions end after 30 minutes.\nNot before.";
  const once = editPlan(TEXT, { kind: "set", port: "core", set: { goal, reads: ["docs/**"] } });
  const twice = editPlan(once, { kind: "set", port: "core", set: { worker: "codex" } });
  const text = editPlan(twice, { kind: "set", port: "api", set: { dependsOn: [], title: "API" } });

  expect(text).toContain("# Sessions end.\nplan: sessions");
  expect(text).toContain("# What a session is.");
  expect(text).not.toContain("depends_on");
  expect(portsIn(text)).toMatchObject([
    { id: "core", goal, owns: ["src/core/**"], reads: ["docs/**"], worker: "codex" },
    { id: "api", title: "API", dependsOn: [], worker: null },
  ]);
  const back = editPlan(text, { kind: "set", port: "core", set: { worker: null } });
  expect(portsIn(back)[0]).toMatchObject({ worker: null });
});

test("a port that goes is no port's need any more; one that comes has a role", () => {
  const added = editPlan(TEXT, {
    kind: "add",
    port: "web",
    set: { goal: "Show it.", owns: ["src/web/**"], acceptance: "true", dependsOn: ["core", "api"] },
  });
  const text = editPlan(added, { kind: "delete", port: "core" });

  expect(portsIn(text)).toMatchObject([
    { id: "api", dependsOn: [] },
    { id: "web", role: "web", dependsOn: ["api"], goal: "Show it." },
  ]);
});

test.each([
  ["a port that is not there", TEXT, "core2", "DRAFT_PORT_UNKNOWN"],
  ["a text that is no plan", "just words", "core", "DRAFT_UNREADABLE"],
  ["a text with a mistake", "plan: [", "core", "DRAFT_UNREADABLE"],
])("%s is refused", (_, text, port, code) => {
  expect(() => editPlan(text, { kind: "delete", port })).toThrow(
    expect.objectContaining({ code }) as Error,
  );
});

test("an id is given once", () => {
  expect(() => editPlan(TEXT, { kind: "add", port: "api", set: {} })).toThrow(/api already/);
});

test.each(["", "plan: [", "ports: 3", "ports: [1, null]\nworkers: 2", "&a [*a]"])(
  "ports of a broken text are read as far as they go: %j",
  (text) => {
    expect(portsIn(text).every(({ id }) => id === "")).toBe(true);
  },
);

test("questions and what is open are taken out of the text", () => {
  const text = `# question: Which?\n#open: All.\n# A plan.\nplan: a\n`;

  expect(withoutNotes(text)).toBe("# A plan.\nplan: a\n");
  expect(notesIn(text)).toEqual({ questions: ["Which?"], open: ["All."] });
});
