import { describe, expect, test } from "vitest";
import { Directory, type RoomAgent } from "../directory.ts";
import { formerNameIn } from "./former-names.ts";

const RUDA = agentOf("ruda", "루다");
const EDEN = agentOf("eden", "이든");
const DAJIM = agentOf("dajim", "다짐");

const said = (text: string, directory: Directory, authorKind: "person" | "agent" = "person") =>
  formerNameIn({ authorKind, mentions: [], text }, directory);

describe("a name that was an agent's", () => {
  const directory = new Directory({ agents: [RUDA, EDEN], channels: [] });
  directory.learnNames([
    { agent: "dajim", name: "다짐", account: "dajim-bot", platform_id: "111222333" },
    { agent: "ruda", name: "누리", account: null },
    { agent: "eden", name: "이든", account: "eden", platform_id: "444" },
  ]);

  test.each([
    ["@다짐 보고서 부탁해", "다짐"],
    ["@다짐아 보고서 부탁해", "다짐"],
    ["@dajim please", "dajim"],
    ["@dajim-bot please", "dajim-bot"],
    ["<@111222333> 보고서 부탁해", "다짐"],
    ["@누리 어디 갔어", "누리"],
  ])("is found in %j", (text, name) => {
    expect(said(text, directory)).toBe(name);
  });

  test.each([
    "다짐 보고서 부탁해",
    "@이든 보고서 부탁해",
    "@ruda please",
    "<@444> 보고서 부탁해",
    "@everyone 보고서 부탁해",
    "a@dajim.example",
    "`@다짐`",
  ])("is not found in %j", (text) => {
    expect(said(text, directory)).toBeUndefined();
  });

  test("counts in a person's message alone, and where no agent of the team is called", () => {
    expect(said("@다짐 부탁해", directory, "agent")).toBeUndefined();
    expect(
      formerNameIn({ authorKind: "person", mentions: ["ruda"], text: "@루다 @다짐" }, directory),
    ).toBeUndefined();
  });
});

test("a reload makes former names of what went, and takes back what returned", () => {
  const directory = new Directory({ agents: [RUDA, DAJIM], channels: [] });
  expect(said("@다짐 부탁해", directory)).toBeUndefined();

  directory.learnPlatformId("web", "dajim", "111222333");
  directory.replace({ agents: [RUDA], channels: [] });
  expect(said("@다짐 부탁해", directory)).toBe("다짐");
  expect(said("<@111222333> 부탁해", directory)).toBe("다짐");

  directory.replace({ agents: [RUDA, DAJIM], channels: [] });
  expect(said("@다짐 부탁해", directory)).toBeUndefined();

  directory.replace({ agents: [RUDA, agentOf("dajim", "하늘")], channels: [] });
  expect(said("@다짐 부탁해", directory)).toBe("다짐");
  expect(said("@하늘 부탁해", directory)).toBeUndefined();
});

function agentOf(id: string, displayName: string): RoomAgent {
  const accounts = { web: { id } };
  return { id, displayName, service: id, leads: id === "ruda", accounts };
}
