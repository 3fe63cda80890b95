import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { stopTestServer, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { testRepository } from "./real-runs.ts";
import { StartedTeam } from "./started-team.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

const FILES = Object.fromEntries(
  ["a", "b"].flatMap((name) => [1, 2, 3].map((number) => [`src/${name}/${number}.txt`, "base\n"])),
);
const PLAN = (repository: string): string => `
plan: two
repository: ${repository}
roles: modules
integration: grep -q made src/a/1.txt && grep -q made src/b/1.txt
workers: { default: { kind: offline, script: two.offline.yaml } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: grep -q made src/a/1.txt }
  - { id: b, role: b, goal: Make b., owns: [src/b/**], acceptance: grep -q made src/b/1.txt, dependsOn: [a] }
`;
const SCRIPT = `ports: { a: { implementer: [{ edits: [{ path: src/a/1.txt, content: made by a }] }] }, b: { implementer: [{ delay: 4s, edits: [{ path: src/b/1.txt, content: made by b }] }] } }`;

interface Step {
  readonly port: string;
  readonly kind: string;
  readonly status: string;
  readonly starts: number;
}

async function get<Answer>(url: string): Promise<Answer> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const stepsOf = async (url: string, id: string): Promise<readonly Step[]> =>
  (
    await Promise.all(
      ["a", "b"].map(
        async (port) => (await get<{ steps: Step[] }>(`${url}/v1/runs/${id}/ports/${port}`)).steps,
      ),
    )
  ).flat();

test(
  "after kill -9 of dure start in a run, the next start ends it and no ended step begins twice",
  { ...FULL, timeout: 180_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    stack.defer(() => stopTestServer());
    const database = stack.use(await testDatabaseUrl());
    const folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-start-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const repository = stack.use(await testRepository(FILES));
    await symlink(PACKAGES, path.join(folder, "node_modules"));
    const made = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, "init", "demo"], {
      cwd: folder,
      stdio: "ignore",
    });
    await once(made, "exit");
    const team = path.join(folder, "demo");
    const mkPlan = spawn(
      process.execPath,
      ["--conditions=dure-source", PROGRAM, "new", "plan", "two"],
      { cwd: team, stdio: "ignore" },
    );
    await once(mkPlan, "exit");
    await writeFile(path.join(team, "plans", "two.yaml"), PLAN(repository.folder));
    await writeFile(path.join(team, "plans", "two.offline.yaml"), SCRIPT);

    const first = stack.use(new StartedTeam(team, database.url));
    const url = await first.url;
    const { id } = (await (await post(`${url}/v1/runs`, { plan: "two" })).json()) as { id: string };
    await expect
      .poll(
        async () =>
          (await stepsOf(url, id)).some(
            ({ port, kind, status }) =>
              port === "b" && kind === "implement" && status === "running",
          ),
        { timeout: 90_000, interval: 50, message: first.output },
      )
      .toBe(true);
    const done = (await stepsOf(url, id)).filter(({ status }) => status === "done");
    await first.kill();

    const second = stack.use(new StartedTeam(team, database.url));
    const again = await second.url;
    await expect
      .poll(async () => (await get<{ status: string }>(`${again}/v1/runs/${id}`)).status, {
        timeout: 90_000,
        message: second.output,
      })
      .toBe("success");

    expect(await repository.git("show", "dure/two:src/a/1.txt")).toBe("made by a");
    expect(await repository.git("show", "dure/two:src/b/1.txt")).toBe("made by b");
    const steps = await stepsOf(again, id);
    expect(done.map(({ port, kind }) => `${port} ${kind}`)).toEqual(
      expect.arrayContaining(["a implement", "a accept"]),
    );
    for (const { port, kind, starts } of done) {
      expect(
        steps.find((step) => step.port === port && step.kind === kind)!.starts,
        `${port} ${kind} was begun again`,
      ).toBe(starts);
    }
    expect(steps.find(({ port, kind }) => port === "b" && kind === "implement")!.starts).toBe(2);

    // A text has no folder of its own, whatever it would be called: its script is one of the team's
    // plans.
    const send = (script: string): Promise<Response> =>
      post(`${again}/v1/runs`, {
        file: "some/where/draft.yaml",
        text: PLAN(repository.folder)
          .replace("plan: two", "plan: draft")
          .replace(/^integration: .*$/m, "")
          .replace("two.offline.yaml", script),
        only: ["a"],
      });
    const [found, missing, outside] = await Promise.all(
      ["two.offline.yaml", "nothing.yaml", "../two.offline.yaml"].map(send),
    );
    const endOf = async (answer: Response): Promise<unknown> => {
      const { id: run } = (await answer.json()) as { id: string };
      const look = (): Promise<{
        status: string;
        report: { missing: { because: object }[] } | null;
      }> => get(`${again}/v1/runs/${run}`);
      await expect
        .poll(async () => ["success", "partial", "failed"].includes((await look()).status), {
          timeout: 90_000,
          message: second.output,
        })
        .toBe(true);
      const { status, report } = await look();
      return { status, because: report?.missing.map(({ because }) => because) };
    };
    expect(await endOf(missing!)).toMatchObject({
      status: "failed",
      because: [
        {
          code: "OFFLINE_SCRIPT_MISSING",
          message: "The script nothing.yaml of the offline worker cannot be read.",
        },
      ],
    });
    expect((await endOf(found!)) as object).toMatchObject({ because: [] });
    expect(await repository.git("show", "dure/draft:src/a/1.txt")).toBe("made by a");
    expect([outside!.status, await outside!.json()]).toMatchObject([
      400,
      { code: "PLAN_INVALID", problems: [{ key: "workers.default.script" }] },
    ]);
  },
);
