import { QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { FreshQueries } from "../src/fresh-queries.ts";

const KEY = ["sessions", "강릉"];

test("a change while a list is first asked for is in the list, though the answer is older", async () => {
  const queries = new FreshQueries();
  const before = Promise.withResolvers<string[]>();
  const answers = [before.promise, Promise.resolve([])];
  const observer = new QueryObserver(queries, {
    queryKey: KEY,
    queryFn: () => answers.shift()!,
  });
  const leave = observer.subscribe(() => {});

  const told = queries.invalidateQueries({ queryKey: ["sessions"] });
  before.resolve(["강릉 날씨"]);
  await told;

  expect(observer.getCurrentResult().data).toEqual([]);
  leave();
});

test("a list that is here is asked for once", async () => {
  const queries = new FreshQueries();
  let asked = 0;
  const observer = new QueryObserver(queries, { queryKey: KEY, queryFn: async () => ++asked });
  const leave = observer.subscribe(() => {});
  await expect.poll(() => observer.getCurrentResult().data).toBe(1);

  await queries.invalidateQueries({ queryKey: ["sessions"] });

  expect(observer.getCurrentResult().data).toBe(2);
  leave();
});
