import { expect, test } from "vitest";
import { z } from "zod";
import { PNG } from "../durable/files/test-files.ts";
import { forgetSession } from "../durable/sessions.ts";
import { testDatabase } from "../durable/test-database.ts";
import { fileResult } from "../engine/agent/file-result.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import type { ModelRequest } from "../models/model.ts";
import { askAgentTool } from "./ask-agent-tool.ts";
import type { AskRequest } from "./ask.ts";
import { filesKeyOfJob, sessionOf } from "./job.ts";
import { saying, startTestTeam, type TestTeam, type TestTeamOptions } from "./test-jobs.ts";

const CAT = { name: "cat.png", type: "image/png", bytes: PNG.length };
const anId = expect.stringMatching(/^file_[0-9A-Z]{26}$/u) as string;

const draw = tool({
  description: "Draws.",
  inputSchema: z.object({}),
  effect: "none",
  execute: () => fileResult({ drawn: 1 }, [{ name: "drawn.png", bytes: PNG }]),
});

async function startTeam(
  options: Partial<TestTeamOptions> & Pick<TestTeamOptions, "agents">,
): Promise<TestTeam & AsyncDisposable> {
  const db = await testDatabase();
  const team = await startTestTeam({ url: db.url, ...options });
  const dispose = async (): Promise<void> => {
    await team[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  };
  return Object.assign(Object.create(team) as TestTeam, { [Symbol.asyncDispose]: dispose });
}

/** In a session of ruda that has a file. */
async function withCat({ engine }: TestTeam, bytes = PNG): Promise<AskRequest> {
  await engine.files.put({ tenant: "", session: "desk", name: "cat.png", bytes, turn: "turn_0" });
  const origin = { session: "desk" };
  return {
    requester: "ruda",
    agent: "eden",
    message: "What is on it?",
    files: ["cat.png"],
    origin,
  };
}

/** What a model was shown: its files by their names. */
function shownTo(request: ModelRequest | undefined): readonly string[] {
  return (request?.messages ?? []).flatMap((message) =>
    message.role === "user" ? (message.files ?? []).map(({ name }) => name) : [],
  );
}

/** Calls the tool once, then says what it says. */
function calling(name: string, text: string): TestTeamOptions["agents"][string] {
  return ({ messages }) =>
    messages.at(-1)?.role === "tool" ? text : { toolCalls: [{ name, args: {} }] };
}

test("a file that an agent names goes with its request, and the asked one's model gets it", async () => {
  await using team = await startTeam({
    agents: { ruda: saying("…"), eden: saying("On it there is one grey pixel.") },
  });

  const answer = await team.jobs.ask(await withCat(team));

  expect(answer).toMatchObject({ status: "ok", reply: "On it there is one grey pixel." });
  expect(shownTo(team.asked["eden"]?.[0])).toEqual(["cat.png"]);
  const { files, jobId } = await team.jobs.get(answer.jobId);
  expect(files).toEqual([{ ...CAT, id: anId, turn: 0 }]);
  expect(await team.jobs.files.read(jobId, files)).toEqual([
    { name: "cat.png", bytes: Buffer.from(PNG) },
  ]);
});

test("a name that the conversation does not have refuses the request, and tells those it has", async () => {
  await using team = await startTeam({ agents: { ruda: saying("…"), eden: saying("…") } });
  const request = { ...(await withCat(team)), files: ["dog.png"] };

  await expect(team.jobs.ask(request)).rejects.toMatchObject({
    code: "FILE_UNKNOWN",
    message: "There is no file dog.png.",
    hint: "This conversation has: cat.png.",
  });
  expect((await team.jobs.list()).items).toEqual([]);
});

test("what the asked agent makes is a file of the one who asked, with the tool's result", async () => {
  const asks = (jobs: TestTeam["jobs"]): AnyTool => askAgentTool(jobs, { requester: "ruda" });
  await using team = await startTeam({
    agents: {
      ruda: ({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? "Here it is."
          : { toolCalls: [{ name: "ask", args: { agent: "eden", message: "Draw it?" } }] },
      eden: calling("draw", "It is drawn, with one pixel in it."),
    },
    tools: (jobs, agent) => (agent === "eden" ? { draw } : { ask: asks(jobs) }),
  });

  const { turnId } = await team.engine.accept({ session: "desk", service: "ruda", message: "Go." });
  const done = await doneOf(team, turnId);

  expect(done.files).toEqual([{ ...CAT, name: "drawn.png", id: anId }]);
  expect(await team.engine.files.read(done.files![0]!.id, { session: "desk" })).toEqual(
    Buffer.from(PNG),
  );
  const result = team.asked["ruda"]?.at(-1)?.messages.findLast(({ role }) => role === "tool");
  expect(result).toMatchObject({ files: [{ name: "drawn.png" }] });
});

test("what one agent makes in its turn goes with its words to the other", async () => {
  await using team = await startTeam({
    agents: {
      ruda: saying("I see the pixel that you have drawn."),
      eden: calling("draw", "Drawn it for you to look at."),
    },
    tools: () => ({ draw }),
  });

  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Let's discuss: what to draw",
    maxTurns: 2,
  });

  expect(shownTo(team.asked["ruda"]?.[0])).toEqual(["drawn.png"]);
  expect((await team.jobs.get(jobId)).files).toEqual([
    { ...CAT, name: "drawn.png", id: anId, turn: 1 },
  ]);
});

test("a job keeps its files when the conversation that had them is deleted, and goes with them", async () => {
  await using team = await startTeam({
    agents: { ruda: saying("…"), eden: saying("A pixel, and no more.") },
  });
  await team.engine.accept({ session: "desk", service: "ruda", message: "Go." });
  const { jobId } = await team.jobs.ask(await withCat(team));
  const keys = async (): Promise<readonly string[]> =>
    (
      await team.database.query<{ session_id: string }>({
        text: "select session_id from dure.files order by session_id",
      })
    ).map((row) => row.session_id);
  await expect.poll(keys).toEqual(["desk", filesKeyOfJob(jobId), sessionOf(jobId, "eden")]);

  await forgetSession(team.database, "desk", "");
  expect(await keys()).toEqual([filesKeyOfJob(jobId), sessionOf(jobId, "eden")]);
  expect(await team.jobs.files.read(jobId, (await team.jobs.get(jobId)).files)).toHaveLength(1);

  await team.jobs.purge({ olderThan: "0s" });
  expect(await keys()).toEqual([]);
  expect(await team.database.query({ text: "select sha256 from dure.file_bytes" })).toEqual([]);
});

test("a file is carried again as the same file, and one that is gone is left out", async () => {
  await using team = await startTeam({ agents: { ruda: saying("…"), eden: saying("…") } });
  await withCat(team);
  const [cat] = await team.database.query<{ id: string }>({ text: "select id from dure.files" });
  const carry = async (): Promise<unknown> => {
    const refs = JSON.stringify([{ id: "file_0" }, { ...CAT, id: cat!.id }]);
    const text = "select dure.carry_files($1, 'desk', 'other', null) as value";
    return (await team.database.query<{ value: unknown }>({ text }, [refs]))[0]?.value;
  };

  const first = await carry();

  expect(first).toEqual([{ ...CAT, id: anId }]);
  expect(await carry()).toEqual(first);
});

async function doneOf({ engine }: TestTeam, turnId: string) {
  for await (const { event } of engine.read(turnId, {})) {
    if (event.type === "DONE") return event.data;
  }
  throw new Error("the turn ended without DONE");
}
