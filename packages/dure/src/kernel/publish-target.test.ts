import { expect, test } from "vitest";
import { publishTarget, resultTitle } from "./publish-target.ts";

const ports = [{ title: "Mend it" }];

test("a plan that says no place has none", () => {
  expect(publishTarget({ name: "login", base: "main", ports }, "dure/login")).toBeUndefined();
});

test("the branch is that of the plan, else that of the result", () => {
  const publish = { remote: "origin", pullRequest: "gh" } as const;
  const plan = { name: "login", base: "main", ports, publish };

  expect(publishTarget(plan, "dure/login-2")).toMatchObject({ branch: "dure/login-2" });
  expect(publishTarget(plan, undefined)).toMatchObject({ branch: "dure/login", title: "Mend it" });
});

test("a plan of several ports is told by its name", () => {
  expect(resultTitle({ name: "login", ports: [...ports, ...ports] })).toBe("login");
});
