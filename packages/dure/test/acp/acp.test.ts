import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";
import { Editor } from "./editor.ts";

/** `dure acp` of a real team, with the official client of ACP. */
const TEAM = fileURLToPath(new URL("desk-team", import.meta.url));
const SLOW = { ...FULL, timeout: 120_000 };

const stack = new AsyncDisposableStack();
let bank: Bank;
let environment: Readonly<Record<string, string>>;
let server: ServerProcess;
const editors: Editor[] = [];

beforeAll(async () => {
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const home = await mkdtemp(path.join(tmpdir(), "dure-acp-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  bank = await startBank();
  stack.defer(() => bank.stop());
  environment = { DATABASE_URL: databaseUrl, DURE_HOME: home, ACP_BANK_URL: bank.url };
  await serve();
}, 120_000);

afterEach(async () => {
  for (const editor of editors.splice(0)) await editor[Symbol.asyncDispose]();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

async function serve(): Promise<void> {
  server = ServerProcess.spawn(environment, TEAM);
  await server.url;
}

async function open(): Promise<Editor> {
  const { DATABASE_URL = "", DURE_HOME = "" } = environment;
  const editor = await Editor.open(TEAM, { DATABASE_URL, DURE_HOME });
  editors.push(editor);
  return editor;
}

function bookingsOf(amount: number): number {
  return bank.bookings().filter((booking) => booking.amount === amount).length;
}

async function running(session: string): Promise<void> {
  const url = `${await server.url}/v1/agent/sessions/${session}`;
  await until(
    async () => {
      const answer = await fetch(url);
      const { running_turn } = (await answer.json()) as { running_turn?: object | null };
      return running_turn !== undefined && running_turn !== null;
    },
    () => "the turn did not begin",
  );
}

async function booked(amount: number): Promise<void> {
  await until(
    () => bookingsOf(amount) > 0,
    () => `nothing was booked\n${server.log.slice(-20).join("\n")}`,
  );
}

describe("an editor", SLOW, () => {
  test("chooses whom to talk to by a mode, and is told the answer", async () => {
    const editor = await open();
    const { session, modes } = await editor.begin("desk");

    const { stopReason } = await editor.prompt(session, "hello");

    expect(editor.initialized).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "dure" },
      agentCapabilities: {
        loadSession: true,
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
    });
    expect(modes.availableModes.map(({ id }) => id).toSorted()).toEqual(["desk", "transfer"]);
    expect(stopReason).toBe("end_turn");
    expect(editor.said).toBe("You said: hello");
    expect(await editor.leave()).toBe(0);
  });

  test("finds its sessions again, and none that others have begun", async () => {
    const editor = await open();
    const { session } = await editor.begin("desk");
    await editor.prompt(session, "hello");
    const body = JSON.stringify({ session_id: "of-the-page", service: "desk", message: "hi" });
    const headers = { "content-type": "application/json" };
    await fetch(`${await server.url}/v1/agent/chat`, { method: "POST", headers, body });
    const again = await open();

    const { sessions, nextCursor } = await again.list();

    expect(nextCursor ?? null).toBeNull();
    expect(sessions.find(({ sessionId }) => sessionId === session)).toMatchObject({
      cwd: "/project",
      updatedAt: expect.stringMatching(/^\d{4}-/u) as string,
    });
    expect(sessions.map(({ sessionId }) => sessionId)).not.toContain("of-the-page");
    await expect(again.list("nonsense")).rejects.toThrow();
  });

  test.each([
    ["yes", 0, 1],
    ["no", 1, 0],
    ["nothing", undefined, 0],
  ] as const)("whose person chooses %s moves money %#", async (_what, choice, times) => {
    const editor = await open();
    const { session } = await editor.begin("transfer");
    const amount = 10_000 + (choice ?? 7);
    editor.choose = () => choice;

    await editor.prompt(session, `홍길동에게 ${amount}원 보내줘`);

    expect(editor.asked[0]).toMatchObject({
      sessionId: session,
      toolCall: { title: expect.stringContaining("홍길동") as string },
      options: [{ kind: "allow_once" }, { kind: "reject_once" }],
    });
    expect(bookingsOf(amount)).toBe(times);
  });

  test("whose person is asked who is meant chooses it, and it is done once as shown", async () => {
    const editor = await open();
    const { session } = await editor.begin("transfer");
    editor.choose = ({ options }) => (options[0]!.name === "확인" ? undefined : 0);
    await editor.prompt(session, "홍길동에게 24000원 보내줘");
    const chosen: string[] = [];
    editor.choose = ({ options }) => {
      chosen.push(options[0]!.name);
      return 0;
    };

    const { stopReason } = await editor.prompt(session, "정하준");

    expect(stopReason).toBe("end_turn");
    expect(chosen).toEqual(["정하준님으로 바꾸기", "확인"]);
    expect(bank.bookings().filter(({ amount }) => amount === 24_000)).toMatchObject([
      { to: "정하준" },
    ]);
  });

  test("is asked for the yes that a tool needs, and the call is made", async () => {
    const editor = await open();
    const { session } = await editor.begin("desk");
    editor.choose = () => 0;

    const { stopReason } = await editor.prompt(session, "order it");

    expect(stopReason).toBe("end_turn");
    expect(editor.asked).toHaveLength(1);
    expect(editor.asked[0]!.toolCall.title).toContain("chair");
    expect(editor.said).toContain("You said");
    const [call, ...later] = editor.updates;
    const { toolCallId } = call as { toolCallId: string };
    expect(call).toMatchObject({
      sessionUpdate: "tool_call",
      title: "order",
      kind: "execute",
      status: "in_progress",
      rawInput: { thing: "chair" },
    });
    expect(editor.asked[0]!.toolCall.toolCallId).toBe(toolCallId);
    expect(later).toMatchObject([
      { toolCallId, status: "pending" },
      { toolCallId, status: "completed" },
      { sessionUpdate: "tool_call", title: "order" },
      { status: "completed", rawOutput: { ordered: "chair" } },
    ]);
  });

  test("stops a turn, and goes on", async () => {
    const editor = await open();
    const { session } = await editor.begin("desk");
    const prompted = editor.prompt(session, "hang");
    await running(session);
    await editor.cancel(session);

    expect(await prompted).toEqual({ stopReason: "cancelled" });
    expect(await editor.prompt(session, "again")).toEqual({ stopReason: "end_turn" });
    expect(editor.said).toContain("You said: again");
  });

  test("puts text of files in, and is refused what is not spoken", async () => {
    const editor = await open();
    const { session } = await editor.begin("desk");

    await editor.prompt(session, [
      { type: "text", text: "Look:" },
      { type: "resource_link", name: "notes", uri: "file:///notes.md" },
      { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
    ]);
    const image = editor.prompt(session, [{ type: "image", data: "AA==", mimeType: "image/png" }]);

    await expect(image).rejects.toMatchObject({ code: -32_602 });
    expect(editor.said).toContain("[notes](file:///notes.md)");
    expect(editor.said).toContain("inside");
    await expect(editor.prompt("acp-none", "hi")).rejects.toMatchObject({ code: -32_002 });
    await expect(editor.load("acp-none")).rejects.toMatchObject({ code: -32_002 });
    await expect(editor.setMode(session, "none")).rejects.toMatchObject({ code: -32_602 });
    await editor.close(session);
    await expect(editor.prompt(session, "hi")).rejects.toMatchObject({ code: -32_002 });
  });
});

describe("killed while the money moves", SLOW, () => {
  test("an agent is started again, loads the session, and tells the answer once", async () => {
    const first = await open();
    const { session } = await first.begin("transfer");
    first.choose = () => 0;
    bank.addFaults({ kind: "delay", when: "after", ms: 4_000 });
    first.prompt(session, "홍길동에게 21000원 보내줘").catch(() => undefined);
    await booked(21_000);
    await first.kill();

    const second = await open();
    const modes = await second.load(session);
    await second.saying("21,000");
    const { stopReason } = await second.prompt(session, "고마워");

    expect(modes.currentModeId).toBe("transfer");
    expect(second.told[0]).toEqual({ who: "user", text: "홍길동에게 21000원 보내줘" });
    expect(stopReason).toBe("end_turn");
    expect(bookingsOf(21_000)).toBe(1);
  });

  test("a server is started again, and the prompt ends with the answer of one transfer", async () => {
    const editor = await open();
    const { session } = await editor.begin("transfer");
    editor.choose = () => 0;
    bank.addFaults({ kind: "delay", when: "after", ms: 4_000 });
    const prompted = editor.prompt(session, "홍길동에게 22000원 보내줘");
    await booked(22_000);
    await server.kill();
    await serve();

    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(bookingsOf(22_000)).toBe(1);
    await editor.resume(session);
    expect(await editor.prompt(session, "고마워")).toEqual({ stopReason: "end_turn" });
  });
});
