import { expect, test } from "vitest";
import { readAudit } from "./vulnerabilities.ts";

/** What `npm audit --json` of npm 11 prints, cut to the members that count. */
function report(vulnerabilities: Record<string, { severity: string; range: string }>): string {
  const total = Object.keys(vulnerabilities).length;
  const metadata = { vulnerabilities: { total }, dependencies: { total: 541 } };
  return JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata });
}

test("high and critical vulnerabilities are serious, lower ones are only counted", () => {
  const found = readAudit(
    report({
      left: { severity: "low", range: "<1.0.0" },
      middle: { severity: "high", range: "<=2.3.0" },
      right: { severity: "critical", range: "*" },
    }),
  );

  expect(found).toEqual({
    kind: "answered",
    total: 3,
    serious: [
      { name: "middle", severity: "high", range: "<=2.3.0" },
      { name: "right", severity: "critical", range: "*" },
    ],
  });
});

test("a report of nothing is an answer", () => {
  expect(readAudit(report({}))).toEqual({ kind: "answered", total: 0, serious: [] });
});

test.for([
  ["", "npm printed no JSON"],
  ["npm error network", "npm printed no JSON"],
  [
    '{"message": "405 Method Not Allowed - POST https://registry.example/bulk"}',
    "405 Method Not Allowed",
  ],
  ["{}", "the report has no counts"],
] as const)(
  "a registry that does not answer is not taken for one without findings: %j",
  ([output, reason]) => {
    expect(readAudit(output)).toEqual({ kind: "unanswered", reason });
  },
);
