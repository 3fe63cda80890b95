import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { searchTools } from "./tool-offer.ts";
import { tool, type AnyTool } from "./tool.ts";

function toolOf(description: string, inputSchema: z.ZodType = z.object({})): AnyTool {
  return tool({ description, inputSchema, execute: () => "done" });
}

const TOOLS = {
  github__create_issue: toolOf("Opens a new issue in a repository."),
  github__list_issues: toolOf("Lists the issues of a repository."),
  github__mergePullRequest: toolOf("Merges a pull request."),
  mail__send: toolOf("Sends an e-mail.", z.object({ recipient: z.string() })),
  bank__transfer: toolOf("계좌에서 다른 사람에게 돈을 송금합니다."),
  bank__balance: toolOf("계좌의 잔액을 조회합니다."),
} as const;

test.each([
  ["open an issue", "github__create_issue"],
  ["creating issues", "github__create_issue"],
  ["merge a pull request", "github__mergePullRequest"],
  ["who is the recipient", "mail__send"],
  ["친구에게 송금하기", "bank__transfer"],
  ["계좌 잔액이 얼마야?", "bank__balance"],
])("the search for %o finds %s first", (query, name) => {
  expect(searchTools(TOOLS, query)[0]).toBe(name);
});

test("a tool whose whole name is asked for goes before those that fit better", () => {
  const found = searchTools(TOOLS, "list issues of a repository with mail__send");

  expect(found.slice(0, 2)).toEqual(["mail__send", "github__list_issues"]);
});

test("a search for words that no tool has finds nothing", () => {
  expect(searchTools(TOOLS, "weather tomorrow")).toEqual([]);
  expect(searchTools(TOOLS, "?!")).toEqual([]);
  expect(searchTools({}, "issue")).toEqual([]);
});

test("a search gives the same in whatever order the tools come", () => {
  const names = Object.keys(TOOLS) as (keyof typeof TOOLS)[];
  const orders = fc.shuffledSubarray(names, { minLength: names.length });
  fc.assert(
    fc.property(orders, fc.constantFrom("issue", "repository request", "계좌"), (order, query) => {
      const tools = Object.fromEntries(order.map((name) => [name, TOOLS[name]]));
      expect(searchTools(tools, query)).toEqual(searchTools(TOOLS, query));
    }),
  );
});
