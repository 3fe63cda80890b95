import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import { concealDiff, concealerOf } from "./given-secrets.ts";

const TOKEN = "shop-0123456789abcdef";
const KEY =
  "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU\n-----END KEY-----";
const ENV = { SHOP_TOKEN: TOKEN, DEPLOY_KEY: KEY, OTHER_TOKEN: "never-given-0123456789" };
const PLAN = parsePlan(
  "shop.yaml",
  `
plan: shop
roles: modules
workers:
  default: { kind: offline }
  a: { kind: command, command: [sh], env: [SHOP_TOKEN, DEPLOY_KEY] }
ports: [{ id: a, role: a, goal: g, owns: [src/**], acceptance: "true" }]
`,
);

test("a diff shows no secret that a worker of its plan was given, in whole, by lines or cut", () => {
  const concealer = concealerOf(PLAN, ENV);
  const lines = KEY.split("\n").map((line) => `+${line}\n`);
  const patch = `+token = "${TOKEN}"\n${lines.join("")}+${ENV.OTHER_TOKEN}\n`;
  const changes = [{ path: `src/${TOKEN}.txt`, kind: "new" as const }];

  const shown = concealDiff({ changes, patch, isCut: false }, concealer);

  expect(shown.changes).toEqual([{ path: "src/[SHOP_TOKEN].txt", kind: "new" }]);
  expect(shown.patch).toContain('+token = "[SHOP_TOKEN]"\n');
  expect(shown.patch).toContain(`+${ENV.OTHER_TOKEN}\n`);
  for (const line of KEY.split("\n").slice(1, 3)) expect(shown.patch).not.toContain(line);

  for (let at = 1; at < TOKEN.length; at += 1) {
    const cut = concealDiff(
      { changes: [], patch: `+x\n+${TOKEN.slice(0, at)}`, isCut: true },
      concealer,
    );
    expect(cut.patch).toBe("+x\n+");
  }
});
