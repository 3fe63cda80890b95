import { expect, test } from "vitest";
import { linked } from "./outgoing.ts";
import { Directory } from "../directory.ts";

const agent = (id: string, displayName: string) => ({
  id,
  displayName,
  service: id,
  leads: false,
  accounts: {},
});
const directory = new Directory({
  agents: [
    agent("ruda", "루다"),
    agent("eden", "이든"),
    agent("edeni", "이든이"),
    agent("eden-2", "이든 둘"),
  ],
  channels: [],
});

test.each([
  ["@루다 봐 줘", ["ruda"], "<@ruda> 봐 줘"],
  ["@루다가 봤고 @이든한테 보냄", ["ruda", "eden"], "<@ruda>가 봤고 <@eden>한테 보냄"],
  ["@루다인 줄 알고 @루다 부름", ["ruda"], "@루다인 줄 알고 <@ruda> 부름"],
  ["@이든이가 말하길 @이든 차례", ["eden", "edeni"], "<@edeni>가 말하길 <@eden> 차례"],
  ["@EDEN-2 and @eden", ["eden", "eden-2"], "<@eden-2> and <@eden>"],
  ["@ruda/pkg is a package, mail to a@ruda", ["ruda"], "@ruda/pkg is a package, mail to a@ruda"],
  ["＠루다 봐 줘, a＠ruda", ["ruda"], "<@ruda> 봐 줘, a＠ruda"],
  ["<@ruda> @루다 @루다", ["ruda"], "<@ruda> <@ruda> @루다"],
])("%s links %j", (text, mentions, shown) => {
  expect(linked(text, mentions, directory)).toBe(shown);
});
