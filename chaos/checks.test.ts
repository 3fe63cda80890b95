import { expect, test } from "vitest";
import { untilQuiet } from "./checks.ts";

test("what is open when patience is over is stuck, by its kind and id", async () => {
  const open = [{ what: "job", id: "job_1", about: "j7" }];
  const ask = async (): Promise<never[]> => open as never[];

  expect(await untilQuiet({ ask }, -1)).toEqual([
    {
      invariant: "stuck",
      text: expect.stringMatching(/^the job job_1 \(j7\) is not over/) as string,
      ids: ["job_1", "j7"],
    },
  ]);
});

test("what ends in time is not stuck, also where the database is away for a look", async () => {
  const looks = [
    () => Promise.reject(new Error("away")),
    async () => [{ what: "turn", id: "turn_1", about: "s1" }],
    async () => [],
  ];
  const ask = (): Promise<never[]> => looks.shift()!() as Promise<never[]>;

  expect(await untilQuiet({ ask }, 60_000)).toEqual([]);
  expect(looks).toEqual([]);
});
