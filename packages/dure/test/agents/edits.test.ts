// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { DureError } from "dure/client";
import { expect, test } from "vitest";
import { ContractProxy, type OpenApiDocument } from "../contract/contract-proxy.ts";
import { until } from "../until.ts";
import { editFolder, startEditTeam, TOKEN } from "./edit-team.ts";

const SLOW = { timeout: 60_000 };

const codeOf = (error: unknown): string =>
  error instanceof DureError ? error.code : String(error);

test(
  "a persona that is saved is in the next answer of every process, and its history tells it",
  SLOW,
  async () => {
    const place = await editFolder();
    const first = await startEditTeam(place);
    const second = await startEditTeam(place);
    const eden = first.client.agentFiles("eden");
    expect(await second.promptOf("eden")).toContain("You are calm.");
    const before = await eden.read();
    const soul = before.files.find(({ file }) => file === "SOUL.md")!;
    expect(before).toMatchObject({
      notEditable: null,
      configured: ["displayName", "card.temperature"],
    });
    expect(before.files.map(({ path: name, text }) => [name, text])).toEqual([
      ["agents/eden/SOUL.md", "You are calm.\n"],
      ["agents/eden/AGENTS.md", null],
      ["agents/eden/MEMORY.md", null],
      ["agents/eden/agent.yaml", null],
    ]);

    const saved = await eden.save("SOUL.md", { text: "You are quick.\n", version: soul.version });
    await eden.save("AGENTS.md", { text: "Count to three.\n", version: null });
    await eden.save("agent.yaml", { text: "card:\n  temperature: 1\n", version: null });

    expect(await first.promptOf("eden")).toContain("You are quick.\n\nCount to three.");
    await until(
      async () => (await second.promptOf("eden")).includes("You are quick.\n\nCount to three."),
      () => "the other process answers as before",
    );
    expect(await readFile(path.join(place.folder, "agents/eden/SOUL.md"), "utf8")).toBe(
      "You are quick.\n",
    );
    const { items } = await eden.edits();
    expect(items).toMatchObject([
      { file: "agent.yaml", added: 2, removed: 0, outcome: "done" },
      { file: "AGENTS.md", added: 1, removed: 0, outcome: "done" },
      {
        id: saved.edit,
        file: "SOUL.md",
        added: 1,
        removed: 1,
        outcome: "done",
        by: "token_environment",
      },
    ]);
    const detail = await eden.edit(saved.edit!);
    expect(detail).toMatchObject({ before: "You are calm.\n", after: "You are quick.\n" });
    expect(detail.patch).toContain("-You are calm.\n+You are quick.\n");
    const audit = await first.client.audit({ what: "agent.*" });
    expect(audit.items.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
      ["agent.edit", "eden/agent.yaml", "done"],
      ["agent.edit", "eden/AGENTS.md", "done"],
      ["agent.edit", "eden/SOUL.md", "done"],
    ]);
  },
);

test(
  "each route of an agent's files keeps what /openapi.json says",
  { ...FULL, ...SLOW },
  async () => {
    const { team } = await startEditTeam(await editFolder());
    const document = (await (await fetch(`${team.url}/openapi.json`)).json()) as OpenApiDocument;
    await using proxy = await ContractProxy.start({ document, upstream: team.url });
    const call = async (method: string, rest: string, body?: object) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const answer = await proxy.call(method, `/v1/agents/eden${rest}`, { headers, body });
      expect([rest, answer.status, answer.violations]).toEqual([rest, 200, []]);
      return answer.body as { version: string; edit: number };
    };

    await call("GET", "/files");
    const { edit, version } = await call("PUT", "/files/MEMORY.md", {
      text: "- a\n",
      version: null,
    });
    await call("GET", "/edits");
    await call("GET", `/edits/${edit}`);
    await call("POST", `/edits/${edit}/restore`, { side: "after", version });
  },
);

test("an earlier text is brought back as a change of its own", { ...FULL, ...SLOW }, async () => {
  const { client, promptOf } = await startEditTeam(await editFolder());
  const eden = client.agentFiles("eden");
  const { version } = (await eden.read()).files[0]!;
  const quick = await eden.save("SOUL.md", { text: "You are quick.\n", version });
  const memory = await eden.save("MEMORY.md", { text: "- Mondays\n", version: null });

  await eden.restore(quick.edit!, { side: "before", version: quick.version });

  expect(await promptOf("eden")).toContain("You are calm.");
  const { items } = await eden.edits();
  expect(items[0]).toMatchObject({ file: "SOUL.md", restores: quick.edit, outcome: "done" });
  await expect(
    eden.restore(memory.edit!, { side: "before", version: memory.version }),
  ).rejects.toMatchObject({ code: "AGENT_EDIT_WITHOUT_FILE" });
  await expect(eden.restore(999, { side: "after", version: null })).rejects.toMatchObject({
    code: "AGENT_EDIT_UNKNOWN",
  });
});

test(
  "a file that was changed elsewhere is not overwritten, and its history says so",
  SLOW,
  async () => {
    const place = await editFolder();
    const { client } = await startEditTeam(place);
    const eden = client.agentFiles("eden");
    const { version } = (await eden.read()).files[0]!;
    const mine = await eden.save("SOUL.md", { text: "You are quick.\n", version });
    await writeFile(path.join(place.folder, "agents/eden/SOUL.md"), "You are an editor's.\n");

    const refused = eden.save("SOUL.md", { text: "You are mine.\n", version: mine.version });

    await expect(refused).rejects.toMatchObject({ code: "AGENT_FILE_CHANGED", class: "conflict" });
    const [soul] = (await eden.read()).files;
    expect(soul).toMatchObject({ text: "You are an editor's.\n", isFromOutside: true });
    await eden.save("SOUL.md", { text: "You are mine.\n", version: soul!.version });
    const { items } = await eden.edits();
    expect(items[0]).toMatchObject({ isFromOutside: true, outcome: "done" });
    expect((await eden.edit(items[0]!.id)).before).toBe("You are an editor's.\n");
  },
);

const REFUSED: readonly [string, { file?: "agent.yaml" | "agent.md"; text: string }, string][] = [
  ["YAML that cannot be read", { file: "agent.yaml", text: "card: [" }, "AGENT_INVALID"],
  ["an unknown key", { file: "agent.yaml", text: "crad: {}" }, "AGENT_INVALID"],
  ["a name that is no text", { file: "agent.yaml", text: "displayName: [1]" }, "AGENT_INVALID"],
  ["no mapping", { file: "agent.yaml", text: "" }, "AGENT_INVALID"],
  ["an unknown model", { file: "agent.yaml", text: "card: {llm: 'opnai:x'}" }, "CARD_INVALID"],
  [
    "an MCP server that is not there",
    { file: "agent.yaml", text: "card: {mcp: [files]}" },
    "MCP_SERVER_UNKNOWN",
  ],
  [
    "a new address for the team's key",
    {
      file: "agent.yaml",
      text: "card: {llm: {provider: openai, model: x, base_url: 'http://evil.example'}}",
    },
    "AGENT_ADDRESS_NEW",
  ],
  [
    "a new address for the team's key in agent.md",
    {
      file: "agent.md",
      text: "---\nmodel: {provider: openai, model: x, base_url: 'http://evil.example'}\n---\nHi",
    },
    "AGENT_ADDRESS_NEW",
  ],
  ["an unknown tool", { file: "agent.md", text: "---\ntools: [x]\n---\nHi" }, "AGENT_INVALID"],
  ["a text that is too long", { text: "x".repeat(20_001) }, "PERSONA_TOO_LONG"],
  [
    "settings that are too long",
    { file: "agent.yaml", text: `card: {} # ${"x".repeat(20_000)}` },
    "PERSONA_TOO_LONG",
  ],
];

test("what a start would refuse is refused before anything is written", SLOW, async () => {
  const place = await editFolder();
  const { client, promptOf } = await startEditTeam(place);
  const eden = client.agentFiles("eden");
  const { version } = (await eden.read()).files[0]!;

  for (const [what, { file = "SOUL.md" as const, text }, code] of REFUSED) {
    const upon = file === "SOUL.md" ? version : null;
    const error = await eden.save(file, { text, version: upon }).catch((caught: unknown) => caught);
    expect([what, codeOf(error)]).toEqual([what, code]);
    expect((error as DureError).hint).toBeTruthy();
  }

  expect(await promptOf("eden")).toContain("You are calm.");
  expect((await eden.edits()).items).toEqual([]);
  const texts = (await eden.read()).files.map(({ text }) => text);
  expect(texts).toEqual(["You are calm.\n", null, null, null]);
  const { items } = await client.audit({ what: "agent.edit" });
  expect(items.map(({ outcome }) => outcome).toReversed()).toEqual(
    REFUSED.map(([, , code]) => code),
  );
});

test("only who may do everything for all tenants reads and changes files", SLOW, async () => {
  const { team, client, clientWith } = await startEditTeam(await editFolder());
  const rooms = await team.request("/v1/agents/eden/files", {
    headers: { authorization: "Bearer wrong" },
  });
  expect(rooms.status).toBe(401);
  const get = (target: string) =>
    team.request(target, { headers: { authorization: `Bearer ${TOKEN}` } });

  for (const [target, status] of [
    ["/v1/agents/gone/files", 404],
    ["/v1/agents/..%2F..%2Fetc/files", 404],
    ["/v1/agents/eden/edits/1", 404],
  ] as const) {
    expect([target, (await get(target)).status]).toEqual([target, status]);
  }
  for (const file of ["..%2FSOUL.md", "dure.config.mjs", "SOUL.md%00"]) {
    const answer = await team.request(`/v1/agents/eden/files/${file}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "x", version: null }),
    });
    expect([file, answer.status]).toEqual([file, 400]);
  }
  await expect(
    client.agentFiles("seum").save("SOUL.md", { text: "x", version: null }),
  ).rejects.toMatchObject({ code: "AGENT_NOT_EDITABLE" });
  expect((await client.agentFiles("seum").read()).notEditable).toBe("service");
  await expect(clientWith("nothing").agentFiles("eden").read()).rejects.toMatchObject({
    class: "unauthorized",
  });
});

test("no link leads a change out of the team's folder", SLOW, async () => {
  const place = await editFolder();
  const { client } = await startEditTeam(place);
  const outside = path.join(place.folder, "outside");
  await mkdir(outside);
  await writeFile(path.join(outside, "SOUL.md"), "Secret.\n");
  const eden = client.agentFiles("eden");
  const folder = path.join(place.folder, "agents/eden");

  await rm(path.join(folder, "SOUL.md"));
  await symlink(path.join(outside, "SOUL.md"), path.join(folder, "SOUL.md"));
  const [soul] = (await eden.read()).files;
  expect(soul).toMatchObject({ text: null, problem: { code: "AGENT_FILE_IS_LINK" } });
  await expect(eden.save("SOUL.md", { text: "x", version: null })).rejects.toMatchObject({
    code: "AGENT_FILE_IS_LINK",
  });
  await rename(folder, path.join(place.folder, "agents/was"));
  await symlink(outside, folder);
  await expect(eden.save("AGENTS.md", { text: "x", version: null })).rejects.toMatchObject({
    code: "AGENT_FILE_IS_LINK",
  });

  expect(await readFile(path.join(outside, "SOUL.md"), "utf8")).toBe("Secret.\n");
});

test(
  "of two people who change one text at once, one is told that it changed",
  { ...FULL, ...SLOW },
  async () => {
    const place = await editFolder();
    const first = await startEditTeam(place);
    const second = await startEditTeam(place);
    const { version } = (await first.client.agentFiles("eden").read()).files[0]!;

    const results = await Promise.allSettled(
      [first, second, first, second].map(({ client }, n) =>
        client.agentFiles("eden").save("SOUL.md", { text: `You are ${n}.\n`, version }),
      ),
    );

    const codes = results.map((one) => (one.status === "fulfilled" ? "done" : codeOf(one.reason)));
    expect(codes.toSorted()).toEqual([
      "AGENT_FILE_CHANGED",
      "AGENT_FILE_CHANGED",
      "AGENT_FILE_CHANGED",
      "done",
    ]);
    const text = await readFile(path.join(place.folder, "agents/eden/SOUL.md"), "utf8");
    expect(text).toBe(`You are ${codes.indexOf("done")}.\n`);
    for (const { promptOf } of [first, second]) {
      await until(
        async () => (await promptOf("eden")).includes(text.trim()),
        () => "a process answers with another text",
      );
    }
  },
);

test(
  "an agent that its folder declares is changed by its agent.md, with its skills",
  SLOW,
  async () => {
    const place = await editFolder();
    const skill = "---\nname: refunds\ndescription: Decides on refunds.\n---\nBe fair.\n";
    await mkdir(path.join(place.folder, "skills/refunds"), { recursive: true });
    await writeFile(path.join(place.folder, "skills/refunds/SKILL.md"), skill);
    await mkdir(path.join(place.folder, "agents/noa"));
    await writeFile(
      path.join(place.folder, "agents/noa/agent.md"),
      "---\nname: 노아\n---\nCalm.\n",
    );
    const { client, promptOf } = await startEditTeam(place);
    const noa = client.agentFiles("noa");
    const { files, notEditable } = await noa.read();

    expect(notEditable).toBeNull();
    expect(files.map(({ file }) => file)).toEqual([
      "agent.md",
      "SOUL.md",
      "AGENTS.md",
      "MEMORY.md",
    ]);
    const { version } = files[0]!;
    const text = "---\nname: 노아\nskills: [refund]\n---\nQuick.\n";
    const refused = noa.save("agent.md", { text, version });
    await expect(refused).rejects.toMatchObject({ code: "AGENT_INVALID" });
    await noa.save("agent.md", { text: text.replace("[refund]", "[refunds]"), version });

    const prompt = await promptOf("noa");
    expect(prompt).toMatch(/You are 노아\.[\s\S]*Quick\.[\s\S]*- `refunds`: Decides on refunds\./);
    const shown = await client.rooms().agent("noa");
    expect(shown.skills).toEqual([{ name: "refunds", description: "Decides on refunds." }]);
  },
);
