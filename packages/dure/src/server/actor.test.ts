import { expect, test } from "vitest";
import { actorOf } from "./actor.ts";

function doneBy(header: string | undefined, proof: "none" | "bearer" = "none"): string {
  const caller = { tenant: "", name: proof === "none" ? "127.0.0.1" : "token_1" };
  const headers = header === undefined ? {} : { "x-dure-person": header };
  return actorOf({ principal: { caller, scopes: [], proof }, headers });
}

test("the person at the machine is called as their page says", () => {
  expect(doneBy(encodeURIComponent("서연"))).toBe("machine:서연");
  expect(doneBy("Mary%20O'Neil")).toBe("machine:Mary O'Neil");
  expect(doneBy(undefined)).toBe("127.0.0.1");
});

test("a token is never called otherwise", () => {
  expect(doneBy("Mina", "bearer")).toBe("token_1");
});

test.each(["%", "", "%0A", "agent:ruda", "<b>", "x".repeat(61), "%E2%80%AEevil"])(
  "“%s” is no name",
  (header) => {
    expect(doneBy(header)).toBe("127.0.0.1");
  },
);
