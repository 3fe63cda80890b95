import { DureError } from "dure/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { ServerClock } from "../src/server-clock.ts";
import { ownCode } from "../src/unreachable.ts";

test("only a request without an answer means that the server cannot be reached", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => said.mockRestore());
  const clock = new ServerClock({ now: () => 0 });
  const lost: unknown = await clock.fetch("http://127.0.0.1:1/").catch((error: unknown) => error);
  const defect = new TypeError("x is undefined");

  expect(lost).toBeInstanceOf(TypeError);
  expect(ownCode(lost)).toBe("UNREACHABLE");
  expect(said).not.toHaveBeenCalled();
  expect(ownCode(new DureError("TOKEN_NEEDED", "A token."))).toBe("TOKEN_NEEDED");
  for (const error of [defect, defect, new Error("odd")]) {
    expect(ownCode(error)).toBe("PAGE_DEFECT");
  }
  expect(said.mock.calls.flat()).toEqual([defect, new Error("odd")]);
});
