import { expect, test } from "vitest";
import { FULL_EFFORT, QUICK_EFFORT } from "./plan-effort.ts";
import { readPlan } from "./plan-file.ts";

const HEAD = "plan: a\nworkers: { default: { kind: offline } }\n";
const ROLES = `${HEAD}roles: { r: {} }\n`;
const list = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(",");
const ports = (count: number, rest: (index: number) => string): string =>
  `ports: [${list(count, (at) => `{ id: p${at}, goal: g, role: r, acceptance: t, ${rest(at)} }`)}]\n`;

/** A name of 64 combinations, none of which meets another name's. */
const BRACES = "*{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";

/** Texts of at most 8,000 characters, which were read on the thread that answers. */
const SHORT: readonly (readonly [name: string, text: string])[] = [
  [
    "braces that all begin with a wildcard",
    ROLES + ports(2, (at) => `owns: [${list(80, (index) => `"${BRACES}${at}x${index}z"`)}]`),
  ],
  [
    "a list of braces that each port repeats",
    ROLES +
      ports(60, (at) =>
        at > 0 ? "owns: *o" : `owns: &o [${list(100, (index) => `"{a,b,c,d}{e,f}${index}/**"`)}]`,
      ),
  ],
  [
    "a role that forbids braces, and ports that own some",
    `${HEAD}roles: { r: { forbidden: [${list(50, (at) => `"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}${at}"`)}] } }\n` +
      ports(1, () => `owns: [${list(50, (at) => `"{c,d}{c,d}{c,d}{c,d}{c,d}{c,d}${at}"`)}]`),
  ],
  [
    "names of others that each port repeats",
    ROLES +
      ports(80, (at) =>
        at > 0 ? "owns: [a], dependsOn: *o" : `dependsOn: &o [${list(60, (index) => `p${index}`)}]`,
      ),
  ],
];

test.each(SHORT)("a short text with %s is too much work for the thread that answers", (_, text) => {
  expect(text.length).toBeLessThanOrEqual(8_000);
  expect(() => readPlan("plan.yaml", text, QUICK_EFFORT)).toThrow(
    expect.objectContaining({ code: "PLAN_TOO_EXPENSIVE", class: "input" }) as Error,
  );
});

/** 20 lists, each repeated by 99 ports: an alias is three letters. */
const repeated = (key: string, entry: (index: number) => string, entries: number): string => {
  const lists = list(20, (at) => `&l${at} [${list(entries, entry)}]`);
  return `${ROLES}lists: [${lists}]\n` + ports(1_980, (at) => `${key}: *l${Math.floor(at / 99)}`);
};

test.each([
  ["patterns", repeated("owns", (index) => `a${index}`, 150)],
  ["others", repeated("dependsOn", (index) => `p${index}`, 150)],
])("297,000 %s by aliases are counted, not read", (word, text) => {
  expect(() => readPlan("plan.yaml", text)).toThrow(new RegExp(`Its ports .*297000 ${word}`));
});

test("patterns that need more comparisons than a plan may have are refused by their count", () => {
  const text = ROLES + ports(300, (at) => `owns: ["**/a${at}.ts"]`);
  const effort = { ...FULL_EFFORT, comparisons: 40_000 };

  expect(() => readPlan("plan.yaml", text, effort)).toThrow("more than 40000 comparisons");
  expect(readPlan("plan.yaml", text).problems).toEqual([]);
});

test("an ordinary plan of 40 ports is little work", () => {
  const text = ROLES + ports(40, (at) => `owns: [src/${at}/**], tests: [test/${at}/**]`);

  expect(readPlan("plan.yaml", text, QUICK_EFFORT)).toMatchObject({ problems: [] });
});
