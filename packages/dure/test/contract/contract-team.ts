import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { createTransferService } from "../../../../examples/transfer/service.ts";
import type { Database } from "../../src/durable/database.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { PNG } from "../../src/durable/files/test-files.ts";
import { fileResult } from "../../src/engine/agent/file-result.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { offlineModel, type OfflineAnswer } from "../../src/models/offline.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { web } from "../../src/channels/index.ts";
import { startTeam } from "../../src/team/start.ts";
import { testRepository } from "../plans/real-runs.ts";

/**
 * A real team that listens: `transfer` (slots, stages, receipts), `desk` (a tool that needs a yes,
 * a hook, an answer that takes its time), two agents in one room, and two plans on a small
 * repository.
 */
export interface ContractTeam extends AsyncDisposable {
  readonly url: string;
  /** May everything. */
  readonly admin: string;
  /** May only chat. */
  readonly guest: string;
  /** Resolves when an answer that hangs was asked for. */
  readonly hanging: Promise<void>;
  readonly database: Database;
  /** Where the money of `transfer` moves. */
  readonly bank: Bank;
  /** Folder of the repository that plans work on. */
  readonly repository: string;
  /** A repository of a tenant that no caller has. */
  readonly stray: string;
  /** The team's own folder, a repository too. */
  readonly folder: string;
  /** A token under which tools may report to the running step of a run. */
  hookTokenOf(run: string): Promise<string>;
  /** Drains the server: every stream ends. */
  stop(): Promise<void>;
}

/** What a message holds decides. */
export const WORDS = {
  hang: "잠깐만",
  buy: "주문해 줘",
  look: "찾아봐 줘",
  note: "적어 둬",
  draw: "그려 줘",
} as const;

/** `greet` succeeds. Of `steer` the first port fails, and the second one never ends. */
const PLANS = {
  "greet.yaml": `
plan: greet
roles: modules
integration: test -f src/greet/hello.txt
workers: { default: { kind: offline, script: greet.offline.yaml } }
ports:
  - { id: greet, role: greet, goal: Say hello., owns: [src/greet/**], tests: [test/greet/**], acceptance: test -f src/greet/hello.txt }
`,
  "greet.offline.yaml":
    'ports: { greet: { implementer: [{ edits: [{ path: src/greet/hello.txt, content: "hello" }] ' +
    "}] }, hold: { implementer: [{ hang: true }] }, " +
    `bad: { implementer: [{ edits: [{ path: src/bad/bad.txt, content: "x" }] }] } }\n`,
  "steer.yaml": `
plan: steer
roles: modules
limits: { tries: 1, parallel_enabled: false }
workers: { default: { kind: offline, script: greet.offline.yaml }, tester: { kind: command, command: ["true"] } }
ports:
  - { id: bad, role: bad, goal: Fail., owns: [src/bad/**], acceptance: "false" }
  - { id: hold, role: hold, goal: Wait., owns: [src/hold/**], tests: [test/hold/**], acceptance: "true", no_change: allowed }
`,
  "broken.yaml": "plan: broken\nports: []\n",
};

/** What it begins is refused: there is no such plan. */
const YEARLY = { cron: "0 0 1 1 *", plan: "none" };

/** @param options.logins tries to log in per minute; default as of every server */
export async function startContractTeam({
  logins,
}: { logins?: number | undefined } = {}): Promise<ContractTeam> {
  await using stack = new AsyncDisposableStack();
  const stored = stack.use(await testDatabase());
  const bank = await startBank();
  stack.defer(() => bank.stop());
  const repository = stack.use(await testRepository({ "README.md": "A repository.\n" }));
  const stray = stack.use(await testRepository({ "README.md": "Another repository.\n" }));
  const own = stack.use(await testRepository({ ".gitignore": ".dure/\n" }));
  const { folder } = own;
  await mkdir(path.join(folder, "plans"));
  for (const [name, text] of Object.entries(PLANS)) {
    await writeFile(
      path.join(folder, "plans", name),
      text.replace("roles: modules", `repository: ${repository.folder}\nroles: modules`),
    );
  }
  const hanging = Promise.withResolvers<void>();

  const order = tool({
    description: "Orders a thing.",
    inputSchema: z.object({ thing: z.string() }),
    effect: "once",
    recover: "ask",
    approval: true,
    execute: ({ thing }) => ({ ordered: thing }),
  });
  const lookUp = tool({
    description: "How many are left.",
    inputSchema: z.object({ thing: z.string() }),
    execute: () => ({ left: 3 }),
  });
  const draw = tool({
    description: "Draws.",
    inputSchema: z.object({}),
    execute: () => fileResult("drawn", [{ name: "drawn.png", bytes: PNG }]),
  });
  const tools = { order, look_up: lookUp, draw };
  const helper = chatAgent({ name: "helper", prompt: "Help at the desk.", tools });
  const desk = defineService({
    name: "desk",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.message.startsWith(WORDS.note)) turn.hook("noted", undefined);
        return turn.done({ message: (await turn.agent("helper", "답변 작성 중")).text });
      }),
    },
  });
  const model = offlineModel("contract", async (request, { signal }) => {
    const last = request.messages.at(-1);
    const text = request.messages.findLast(({ role }) => role === "user");
    const said = text?.role === "user" ? text.text : "";
    const transfer = answerTransfer(request);
    if (transfer) return transfer;
    if (said.includes(WORDS.hang)) return hang(hanging.resolve, signal);
    if (said.startsWith(WORDS.buy) && last?.role !== "tool") {
      return { toolCalls: [{ name: "order", args: { thing: "의자" } }] };
    }
    if (said.startsWith(WORDS.look) && last?.role !== "tool") {
      return { toolCalls: [{ name: "look_up", args: { thing: "의자" } }] };
    }
    if (said.startsWith(WORDS.draw) && last?.role !== "tool") {
      return { toolCalls: [{ name: "draw", args: {} }] };
    }
    return { text: "네, 알겠습니다." };
  });

  const options = defineTeam({
    name: "contract",
    locale: "ko",
    timeZone: "Asia/Seoul",
    model: "offline:contract",
    offlineModels: [model],
    services: { desk, transfer: createTransferService({ bankUrl: bank.url }) },
    agents: { ruda: { displayName: "루다", leads: true }, eden: { displayName: "이든" } },
    rooms: { adapters: [web()], channels: { general: { defaultAgent: "ruda" } } },
    schedules: {
      "of-none": { ...YEARLY },
      "of-acme": { ...YEARLY, tenant: "acme" },
      "of-beta": { ...YEARLY, tenant: "beta" },
    },
    server: { limits: { logins } },
    knowledge: { handbook: {} },
    repositories: {
      greetings: { path: repository.folder, tenants: ["acme", "beta"] },
      stray: { path: stray.folder, tenants: ["gamma"] },
    },
  });
  const admin = "contract-admin-token-0123456789";
  const environment = readEnvironment({
    DATABASE_URL: stored.url,
    PORT: "0",
    DURE_TOKEN: admin,
    DEV_MODE: "true",
  });
  const team = await startTeam(await readTeam(options, folder), environment, {
    logger: silentLogger,
  });
  stack.defer(() => team.stop());
  const { token: guest } = await new PostgresTokenStore({ database: stored.database }).create({
    name: "guest",
    scopes: ["chat"],
  });
  const hookTokenOf = async (run: string): Promise<string> => {
    const token = `hook_of_${run}`;
    await stored.database.query(
      {
        name: "contract.hook",
        text: "update dure.plan_steps set hook_hash = $2 where run = $1 and status = 'running'",
      },
      [run, createHash("sha256").update(token).digest()],
    );
    return token;
  };
  const kept = stack.move();
  return {
    url: team.url,
    database: stored.database,
    bank,
    admin,
    guest,
    hanging: hanging.promise,
    repository: repository.folder,
    stray: stray.folder,
    folder,
    hookTokenOf,
    stop: () => team.stop(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function hang(reached: () => void, signal: AbortSignal): Promise<OfflineAnswer> {
  reached();
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
}
