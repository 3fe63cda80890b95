import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { loadTeam } from "./config.ts";
import { warnOfMissingPersonas } from "./missing-personas.ts";

test("a start warns of an agent whose folder is missing, and says how it is made", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-personas-"));
  await writeFile(path.join(folder, "dure.yaml"), "agents: { ruda: {}, eden: {} }\n");
  await mkdir(path.join(folder, "agents", "ruda"), { recursive: true });
  const warned: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => void warned.push(message) };

  const team = await loadTeam(folder);
  warnOfMissingPersonas(team, logger);
  warnOfMissingPersonas({ ...team, document: undefined }, logger);

  expect(warned).toEqual([expect.stringMatching(/agents\/eden is missing.*dure new agent eden/)]);
  await rm(folder, { recursive: true });
});
