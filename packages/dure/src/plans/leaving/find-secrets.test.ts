import { expect, test } from "vitest";
import { findSecrets } from "./find-secrets.ts";

const CHARACTERS = "Zk3mQ8vT1rY6wP0sL4nB7xC2dF5gH9jKaSeD";
/** Between the parts of a sample, so that no scanner finds it in this file. */
const SPLIT = "";
const random = (length: number): string =>
  Array.from({ length }, (_, at) => CHARACTERS[(at * 7 + at ** 2) % CHARACTERS.length]).join("");
const upper = (length: number): string =>
  random(length)
    .toUpperCase()
    .replace(/[^A-Z2-7]/g, "Q");

/** Made up by the published forms. */
const SAMPLES: readonly (readonly [rule: string, text: string])[] = [
  ["github-token", `github${SPLIT}_pat_${random(22)}_${random(59)}`],
  ["gitlab-token", `glp${SPLIT}at-${random(20)}`],
  ["slack-token", `xo${SPLIT}xb-730518264907-7305182649071-${random(24)}`],
  [
    "slack-webhook",
    `https://hooks.slack${SPLIT}.com/services/T0${upper(8)}/B0${upper(8)}/${random(24)}`,
  ],
  ["discord-token", `M${random(24)}.${random(6)}.${random(38)}`],
  ["telegram-token", `${SPLIT}7305182649:AA${random(33)}`],
  ["anthropic-key", `sk-${SPLIT}ant-api03-${random(93)}AA`],
  ["openai-key", `sk-${SPLIT}proj-${random(60)}`],
  ["openai-key", `sk-${random(20)}${SPLIT}T3BlbkFJ${random(20)}`],
  ["model-key", `gs${SPLIT}k_${random(52)}`],
  ["aws-key-id", `AK${SPLIT}IA${upper(16)}`],
  ["aws-secret", `aws_secret_access_key = ${random(40)}`],
  ["google-key", `AI${SPLIT}za${random(35)}`],
  ["azure-key", `Account${SPLIT}Key=${random(86)}==`],
  ["npm-token", `np${SPLIT}m_${random(36)}`],
  ["npm-login", `//registry.npmjs.org/:_auth${SPLIT}Token=${random(36)}`],
  ["pypi-token", `py${SPLIT}pi-AgEIcHlwaS5vcmc${random(60)}`],
  ["registry-token", `dckr_${SPLIT}pat_${random(27)}`],
  ["stripe-key", `sk_${SPLIT}live_${random(24)}`],
  ["sendgrid-key", `S${SPLIT}G.${random(22)}.${random(43)}`],
  ["cloud-token", `dop_${SPLIT}v1_${random(64)}`],
  ["dure-token", `du${SPLIT}re_${random(43)}`],
];

test.each(SAMPLES)(
  "a %s is found in a line of code, and its text is not told",
  async (rule, text) => {
    const found = await findSecrets("src/a.ts", `const one = "${text}";\n`, "");

    expect(found.map((one) => one.rule)).toContain(rule);
    for (const { excerpt } of found) {
      expect(excerpt).toMatch(/… \(\+\d+\)$/);
      expect(excerpt).not.toContain(text.slice(-12));
    }
  },
);

test("a secret that was there before the change is not found again", async () => {
  const [, text] = SAMPLES[0]!;

  expect(await findSecrets("a.ts", `// more\n${text}\n`, `${text}\n`)).toEqual([]);
});

/** Beginnings that a pattern could try again and again. */
const HOSTILE = [
  "a",
  "-",
  "AKIA",
  "sk-",
  "ghp_",
  "https://a:",
  "a+.-",
  "xoxb-1",
  "KEY=",
  "M",
  "\n",
];

test.each([...HOSTILE, "-----BEGIN PRIVATE KEY-----\n", "secret_access_key = ", "export A_"])(
  "a long text of %j is read in time that grows with its length alone",
  async (part) => {
    const timed = async (length: number): Promise<number> => {
      const text = part.repeat(length / part.length);
      const start = performance.now();
      await findSecrets(".env", text, "");
      return performance.now() - start;
    };
    await timed(100_000);

    // 40 ms of an idle machine; what grows with the square takes minutes.
    expect(await timed(1_000_000)).toBeLessThan(3_000);
  },
);
