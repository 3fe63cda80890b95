// @module-tag slow
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { findSecrets } from "./find-secrets.ts";

const CHARACTERS = "Zk3mQ8vT1rY6wP0sL4nB7xC2dF5gH9jKaSeD";
/** Between the parts of a sample, so that no scanner finds it in this file. */
const SPLIT = "";
const random = (length: number): string =>
  Array.from({ length }, (_, at) => CHARACTERS[(at * 7 + at ** 2) % CHARACTERS.length]).join("");
/** As a machine makes them. */
const made = (length: number): string =>
  createHash("sha512").update("dure").digest("base64url").replaceAll(/[_-]/g, "x").slice(0, length);
const upper = (length: number): string =>
  random(length)
    .toUpperCase()
    .replace(/[^A-Z2-7]/g, "Q");

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function pem(body: string): string {
  return `-----BEGIN ${SPLIT}PRIVATE KEY-----\n${body}\n-----END ${SPLIT}PRIVATE KEY-----\n`;
}

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
  ["web-token", `ey${SPLIT}JhbGciOiJSUzI1NiJ9.eyJ${random(40)}.${random(43)}`],
  ["authorization", `Authorization: Bearer ${made(40)}`],
  ["authorization", `"authorization": "Basic ${base64(`mina:${made(12)}`)}"`],
  ["docker-login", `{ "auth": "${base64(`mina:${made(12)}`)}" }`],
  ["stripe-key", `wh${SPLIT}sec_${made(32)}`],
  ["aws-secret", `AK${SPLIT}IA${upper(16)},${made(40)}`],
  ["secret-value", `client_secret: "${made(32)}"`],
  ["secret-value", `DB_PASSWORD=${made(24)}`],
  ["address-password", `postgres://shop:${made(12)}@db.shop.kr/shop`],
  ["private-key", pem(made(64)).replaceAll("\n", "\\n")],
];

test.each(SAMPLES)(
  "a %s is found in a line of code, and its text is not told",
  async (rule, text) => {
    const found = await findSecrets("src/a.yaml", `- one: ${text}\n`, "");

    expect(found.map((one) => one.rule)).toContain(rule);
    for (const { excerpt } of found) {
      expect(excerpt).toMatch(/… \(\+\d+\)$/);
      expect(excerpt).not.toContain(text.slice(-12));
    }
  },
);

const KEY = `gh${SPLIT}p_${random(36)}`;
const ACCOUNT = JSON.stringify({ type: "service_account", private_key: pem(random(64)) });
const LONG = `# settings of the shop\n`.repeat(20);

/** A text in base64, as `base64` and as settings write it. */
const ENCODINGS: readonly (readonly [how: string, encode: (text: string) => string])[] = [
  ["in one line", base64],
  ["in lines of 76", (text) => base64(text).replaceAll(/.{76}/g, "$&\n")],
  ["in lines with an indent", (text) => base64(text).replaceAll(/.{64}/g, "$&\n      ")],
  ["in the alphabet of addresses", (text) => Buffer.from(text).toString("base64url")],
];

test.each(ENCODINGS)("a secret that stands in base64 %s is found", async (_, encode) => {
  const at = async (text: string): Promise<unknown> => {
    const found = await findSecrets("k8s.yaml", `kind: Secret\ndata: ${encode(text)}\n`, "");
    return found.map(({ rule, line, excerpt }) => [rule, line, excerpt.slice(0, 12)]);
  };

  expect(await at(`${LONG}token=${KEY}\n`)).toContainEqual(["github-token", 2, "base64: ghp_"]);
  expect(await at(ACCOUNT)).toContainEqual(["private-key", 2, "base64: ----"]);
  expect(await at(LONG)).toEqual([]);
});

test("a secret far inside of a long text in base64 is found, and not where it was before", async () => {
  const text = (more: string): string => `x: ${base64(LONG.repeat(2_000) + more)}\n`;

  const found = await findSecrets("a.txt", text(KEY), text(""));
  expect(found.map(({ rule }) => rule)).toEqual(["github-token"]);
  expect(await findSecrets("a.txt", `${text(KEY)}more\n`, text(KEY))).toEqual([]);
});

test.each([
  `const token = "session_token_of_the_visitor";`,
  `token: "8c1f2ab9-0d4e-4f7a-9b1c-2d3e4f5a6b7c"`,
  `password: process.env.DATABASE_PASSWORD_OF_SHOP`,
  `access_key = "{{ secrets.ACCESS_KEY_NUMBER_1 }}"`,
  `Authorization: Bearer \${token}`,
  `type Password = AuthenticationMD5PasswordOfOAuth2Service;`,
  `"integrity": "sha512-${made(80)}=="`,
  `secretPath: "/var/lib/shop/secrets/v2/current.json"`,
])("%s is taken for no secret", async (line) => {
  expect(await findSecrets("src/a.ts", `${line}\n`, "")).toEqual([]);
});

test("other work goes on while a line of 10 MB is read", async () => {
  const line = `{"data":"${"iVBORw0KGgoAAAANSUhEUgAA".repeat(420_000)}","key":"${KEY}"}`;
  let turns = 0;
  const turn = (): void => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);

  const found = await findSecrets("a.json", line, "");
  clearImmediate(next);

  expect(found.map(({ rule }) => rule)).toEqual(["github-token"]);
  expect(turns).toBeGreaterThan(100);
});

test("a secret that was there before the change is not found again", async () => {
  const [, text] = SAMPLES[0]!;

  expect(await findSecrets("a.ts", `// more\n${text}\n`, `${text}\n`)).toEqual([]);
});

/** Beginnings that a pattern could try again and again. */
const HOSTILE = [
  "a",
  "token",
  "token=a1",
  "eyJ",
  "-eyJa.",
  "authorization:bearer ",
  'secret="a1B2c3D4e5F6g7H8i9J0"\n',
  "A".repeat(39) + "1",
  `${"A".repeat(39)}1\n`,
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
    expect(await timed(1_000_000)).toBeLessThan(20_000);
  },
);
