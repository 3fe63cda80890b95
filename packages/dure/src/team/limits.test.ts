import { expect, test } from "vitest";
import { chooseLlm } from "../engine/agent/agent-model.ts";
import type { Llm } from "../models/card.ts";
import { readEnvironment } from "./environment.ts";
import { checkTeam, type TeamConfig } from "./config.ts";
import {
  originText,
  everyModelOf,
  hasProvider,
  modelOf,
  resolveLimits,
  SETTINGS,
  settingsOf,
} from "./limits.ts";

const config = {} as TeamConfig;
const llm = (provider: Llm["provider"], model: string): Llm => ({ provider, model, fallbacks: [] });

test.for([
  [{}, "offline"],
  [{ OPENAI_API_KEY: "k" }, "openai"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, "anthropic"],
  [{ OPENAI_API_KEY: "k", DURE_MODEL: "offline" }, "offline"],
] as const)("with %j the team's provider is %s", ([source, provider]) => {
  expect(modelOf(config, readEnvironment(source)).provider).toBe(provider);
});

test("a team has a provider by its model, a key, or the card of one agent", () => {
  const none = readEnvironment({});
  const card = { llm: "openai:gpt-x" };

  expect(hasProvider(config, none)).toBe(false);
  expect(hasProvider(config, readEnvironment({ OPENAI_API_KEY: "k" }))).toBe(true);
  expect(hasProvider({ agents: { mina: { card } } } as unknown as TeamConfig, none)).toBe(true);
  expect(hasProvider({ agents: { mina: {} } } as unknown as TeamConfig, none)).toBe(false);
});

test.for([{}, { DURE_MODEL: "offline" }, { OPENAI_API_KEY: "k", DURE_MODEL: "offline" }])(
  "with %j the offline model is the team's first",
  (source) => {
    const first = { name: "first", respond: () => "" };
    const own = { offlineModels: [first, { ...first, name: "second" }] } as unknown as TeamConfig;

    expect(modelOf(own, readEnvironment(source))).toEqual(llm("offline", "first"));
  },
);

test("DURE_MODEL with a real provider holds for every agent; offline holds for none", () => {
  expect(everyModelOf(readEnvironment({ DURE_MODEL: "openai:gpt-x" }))?.model).toBe("gpt-x");
  expect(everyModelOf(readEnvironment({ DURE_MODEL: "offline" }))).toBeUndefined();
});

test.for([
  { own: undefined, team: llm("offline", "echo"), every: undefined, chosen: "offline:echo" },
  {
    own: llm("offline", "intent"),
    team: llm("offline", "echo"),
    every: undefined,
    chosen: "offline:intent",
  },
  {
    own: llm("offline", "intent"),
    team: llm("openai", "gpt"),
    every: undefined,
    chosen: "openai:gpt",
  },
  {
    own: llm("anthropic", "big"),
    team: llm("openai", "gpt"),
    every: undefined,
    chosen: "anthropic:big",
  },
  {
    own: llm("anthropic", "big"),
    team: llm("openai", "gpt"),
    every: llm("openai", "all"),
    chosen: "openai:all",
  },
] as const)(
  "an agent with $own.model in a team with $team.model asks $chosen",
  ({ own, team, every, chosen }) => {
    const { provider, model } = chooseLlm(own, team, every);
    expect(`${provider}:${model}`).toBe(chosen);
  },
);

test("a card's temperature holds for the model that stands in for its own", () => {
  const own = { ...llm("anthropic", "big"), temperature: 0, maxOutputTokens: 200 };
  const every = { ...llm("openai", "all"), temperature: 1 };

  expect(chooseLlm(own, llm("openai", "gpt"), every)).toMatchObject({
    model: "all",
    temperature: 0,
    maxOutputTokens: 200,
  });
});

/** What may stand in a file where one more than the default may not. */
const OTHER_VALUES: Readonly<Record<string, unknown>> = {
  "rooms.gather.policy": "interrupt",
  locale: "ko",
  timeZone: "Asia/Seoul",
  "server.host": "localhost",
  "server.origins": ["https://app.example"],
  "server.allowedHosts": ["dure.example.com"],
  "server.trustProxy": ["10.0.0.0/8"],
  "server.limits.perToken": 5,
  "sessions.busy": "reject",
  "memory.summaryModel": "offline",
  "memory.summaryPrompt": "{memory_block} {dialog}",
  "limits.observations.count": 10,
  "plans.memoryBytes": 2_147_483_648,
  "plans.cpus": 1.5,
  "plans.diskBytes": 2_147_483_648,
  "plans.remote": "origin",
  "jobs.treeTokens": 1_000,
  "retention.sessions": 200_000_000,
  "retention.turns": 200_000_000,
};
test("default places are printed in full, one for each platform, with where they come from", () => {
  const value = {
    services: {},
    agents: { ruda: { channel: "discord:ops" }, eden: {} },
    rooms: {
      adapters: ["web", "discord"],
      channels: { general: { discord: "12345" }, ops: { discord: "67890" } },
    },
  };
  const printed = (more: object) => {
    const given = { ...value, rooms: { ...value.rooms, ...more } };
    const document = { file: "dure.yaml", value: given, locate: () => ({ line: 7, column: 1 }) };
    const config = checkTeam(document, import.meta.dirname);
    const rows = resolveLimits({ config, document }, readEnvironment({}));
    return Object.fromEntries(
      rows
        .filter(({ key }) => /channel|room$/i.test(key))
        .map(({ key, value: places, origin }) => [key, [places, originText(origin)]]),
    );
  };

  expect(printed({})).toEqual({
    "rooms.defaultChannel": [
      ["web:general", "discord:general"],
      "default (the first of rooms.channels)",
    ],
    "agents.ruda.channel": [["discord:ops"], "dure.yaml:7"],
  });
  expect(printed({ defaultChannel: ["general", "discord:ops"] })).toMatchObject({
    "rooms.defaultChannel": [["web:general", "discord:ops"], "dure.yaml:7"],
  });
});

const inFile = Object.entries(SETTINGS).flatMap(
  ([key, { path, fallback }]: [string, { path?: readonly string[]; fallback: unknown }]) =>
    path === undefined ? [] : [{ key, path, fallback }],
);

test.for(inFile)(
  "$key can be set in the file, holds, and doctor says that it comes from there",
  ({ key, path, fallback }) => {
    const name = path.join(".");
    const other =
      OTHER_VALUES[name] ?? (typeof fallback === "boolean" ? !fallback : (fallback as number) + 1);
    const value = path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), other) as object;
    const team = checkTeam(
      {
        file: "dure.yaml",
        value: { services: { desk: "." }, ...value },
        locate: () => ({ line: 7, column: 1 }),
      },
      import.meta.dirname,
    );

    const printed = resolveLimits(
      {
        config: team,
        document: { file: "dure.yaml", value, locate: () => ({ line: 7, column: 1 }) },
      },
      readEnvironment({}),
    ).find((limit) => limit.key === name);

    expect(other).not.toEqual(fallback);
    expect(
      (settingsOf(team, readEnvironment({})) as unknown as Record<string, unknown>)[key],
    ).toEqual(other);
    expect(printed).toMatchObject({
      value: other,
      origin: { kind: "file", file: "dure.yaml", line: 7 },
    });
  },
);
