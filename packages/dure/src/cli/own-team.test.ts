import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  readRunningServer,
  removeRunningServer,
  writeRunningServer,
} from "../server/running-server.ts";
import { connect } from "./connect.ts";

/** Another server at the address that a command would take for the team's own. */
let server: Server;
let url: string;
let folder: string;
let home: string;

beforeEach(async () => {
  for (const name of ["PORT", "DURE_URL", "DURE_HOME", "DURE_TOKEN"]) vi.stubEnv(name, undefined);
  folder = await mkdtemp(path.join(tmpdir(), "dure-own-"));
  home = path.join(folder, ".dure");
  server = createServer((request, response) => {
    const health = { status: "ok", version: "1.0.0", process_id: "process_1" };
    const isHealth = request.url === "/healthz";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(isHealth ? health : { scopes: [], person: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

async function makeTeam(): Promise<void> {
  await writeFile(path.join(folder, "dure.yaml"), "name: demo\n");
}

test("a command reaches the server of the folder it stands in", async () => {
  await writeRunningServer(home, { url, processId: "process_1" });

  await expect(connect({ dir: folder })).resolves.toBeDefined();
});

test("a command outside of a team says so, whatever runs on the machine", async () => {
  await expect(connect({ dir: folder })).rejects.toMatchObject({ code: "TEAM_NOT_FOUND" });
});

test("a command of a team that was never started says so", async () => {
  await makeTeam();

  await expect(connect({ dir: folder })).rejects.toMatchObject({
    code: "TEAM_NOT_RUNNING",
    message: `The team in ${folder} is not running: no server of it has been started.`,
  });
});

test("another server at the address of the team's last one is not taken for it", async () => {
  await makeTeam();
  await writeRunningServer(home, { url, processId: "process_0" });

  await expect(connect({ dir: folder })).rejects.toMatchObject({
    code: "TEAM_NOT_RUNNING",
    message: expect.stringContaining(`another server answers at ${url}`) as string,
  });
});

test("a server that died without a word is told as such", async () => {
  await makeTeam();
  await writeRunningServer(home, { url: "http://127.0.0.1:1", processId: "process_0" });

  await expect(connect({ dir: folder })).rejects.toMatchObject({
    code: "TEAM_NOT_RUNNING",
    message: expect.stringContaining("nothing answers at http://127.0.0.1:1 any more") as string,
  });
});

test("what a person says goes before the folder", async () => {
  await writeRunningServer(home, { url: "http://127.0.0.1:1", processId: "process_0" });

  await expect(connect({ dir: folder, url })).resolves.toBeDefined();
  vi.stubEnv("DURE_URL", url);
  await expect(connect({ dir: folder })).resolves.toBeDefined();
});

test.each(["", "{", "[]", '{"url":"file:///etc/passwd","processId":"x"}', "x".repeat(5000)])(
  "a file of the address that holds %j is no server",
  async (text) => {
    await mkdir(home);
    await writeFile(path.join(home, "server.json"), text);

    await expect(readRunningServer(home)).resolves.toBeUndefined();
  },
);

test("a server that ends takes away its own address alone", async () => {
  const next = { url, processId: "process_2" };
  await writeRunningServer(home, next);

  await removeRunningServer(home, "process_1");
  expect(await readRunningServer(home)).toEqual(next);
  await removeRunningServer(home, "process_2");
  expect(await readRunningServer(home)).toBeUndefined();
});
