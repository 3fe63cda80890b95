import { createOpenAI } from "@ai-sdk/openai";
import { expect, test } from "vitest";
import { defineService, flow } from "../engine/service/service.ts";
import { MODEL_OBJECT } from "../models/model-object.ts";
import type { OfflineModel } from "../models/offline.ts";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { modelOf } from "./limits.ts";
import { offlineModelsOf, withOfflineModels } from "./offline-models.ts";

const services = {
  desk: defineService({
    name: "desk",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "" })) },
  }),
};
const stub: OfflineModel = { name: "stub", respond: () => "" };

/** The models of a team under these variables, and how often they were loaded. */
async function loadedUnder(variables: Record<string, string>, model?: string) {
  let loads = 0;
  const offlineModels = async (): Promise<OfflineModel[]> => ((loads += 1), [stub]);
  const environment = readEnvironment(variables);
  const team = await withOfflineModels(
    await readTeam({ services, offlineModels, model }),
    environment,
  );
  const models = offlineModelsOf(team.config).map(({ name }) => name);
  return { loads, models, answers: modelOf(team.config, environment).model };
}

test.for([
  [{}, undefined],
  [{ DURE_MODEL: "offline", OPENAI_API_KEY: "k" }, undefined],
  [{ OPENAI_API_KEY: "k" }, "offline:stub"],
] as const)("with %j and the model %s the stand-ins are loaded", async ([variables, model]) => {
  const found = await loadedUnder(variables, model);

  expect(found).toEqual({ loads: 1, models: ["stub", "none"], answers: "stub" });
});

test.for([
  [{ OPENAI_API_KEY: "k" }, undefined],
  [{ DURE_MODEL: "openai:gpt-x", OPENAI_API_KEY: "k" }, "offline:stub"],
  [{ OPENAI_API_KEY: "k" }, "openai:gpt-x"],
] as const)("with %j and the model %s no stand-in is loaded", async ([variables, model]) => {
  expect(await loadedUnder(variables, model)).toMatchObject({ loads: 0, models: ["none"] });
});

test("the model of a team may be an object of the AI SDK", async () => {
  const object = createOpenAI({ apiKey: "k" })("gpt-5-mini");

  const { config } = await readTeam({ services, model: object });

  expect(modelOf(config, readEnvironment({}))[MODEL_OBJECT]).toBe(object);
  expect(JSON.stringify(config.model)).not.toContain("config");
});

test.for([
  ["CONFIG_UNREADABLE", () => Promise.reject(new Error("gone"))],
  ["CONFIG_INVALID", async () => [{ respond: () => "" }] as unknown as OfflineModel[]],
] as const)("what gives no models ends with %s", async ([code, offlineModels]) => {
  const team = await readTeam({ services, offlineModels });

  await expect(withOfflineModels(team, readEnvironment({}))).rejects.toMatchObject({ code });
});
