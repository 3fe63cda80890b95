import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { webhookHeaders } from "../escalations/sign-webhook.ts";
import { systemClock } from "../kernel/clock.ts";
import { decideSignature, type SignedDelivery } from "./signature.ts";

/** The example that the libraries of Standard Webhooks test themselves with. */
const KNOWN = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  delivery: {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: "1614265330",
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    body: Buffer.from('{"test": 2432232314}'),
  },
  now: 1_614_265_330,
};

const RAW = { format: "raw" } as const;
const BASE64 = KNOWN.secret;

const decide = (change: Partial<SignedDelivery> = {}, now = KNOWN.now, secret = KNOWN.secret) =>
  decideSignature({ ...KNOWN.delivery, ...change }, secret, now);

test("the published example is signed, also among other signatures", () => {
  const others = `v1a,abc v1,AAAA ${KNOWN.delivery.signature}`;

  expect(decide()).toEqual({ isSigned: true, id: KNOWN.delivery.id });
  expect(decide({ signature: others })).toMatchObject({ isSigned: true });
});

test("a secret without the prefix is its own bytes, as dure's own webhooks are signed", () => {
  const secret = "a-plain-secret-0123";
  const { id, timestamp, body } = KNOWN.delivery;
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body.toString()}`);

  expect(decide({ signature: `v1,${mac.digest("base64")}` }, KNOWN.now, secret)).toMatchObject({
    isSigned: true,
  });
});

describe("refused", () => {
  test.each([
    ["another body", { body: Buffer.from('{"test": 1}') }, "no-signature-fits"],
    ["another id", { id: "msg_other" }, "no-signature-fits"],
    ["another time", { timestamp: "1614265331" }, "no-signature-fits"],
    ["a cut signature", { signature: "v1,g0hM9SsE" }, "no-signature-fits"],
    ["another version", { signature: "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3" }, "no-signature-fits"],
    ["no id", { id: undefined }, "headers-missing"],
    ["an id with a space", { id: "a b" }, "id-invalid"],
    ["an id that is too long", { id: "a".repeat(5_000) }, "id-invalid"],
    ["a time that is none", { timestamp: "now" }, "timestamp-invalid"],
    ["no signature", { signature: undefined }, "headers-missing"],
    [
      "a signature behind ten others",
      { signature: `${"v1,AAAA ".repeat(10)}${KNOWN.delivery.signature}` },
      "no-signature-fits",
    ],
  ])("%s", (_what, change, because) => {
    expect(decide(change)).toEqual({ isSigned: false, because });
  });

  test.each([
    [300, true, undefined],
    [301, false, "too-old"],
    [-300, true, undefined],
    [-301, false, "too-new"],
  ])("%d seconds after it was signed", (age, isSigned, because) => {
    expect(decide({}, KNOWN.now + age)).toMatchObject(
      because === undefined ? { isSigned } : { isSigned, because },
    );
  });

  test("another secret", () => {
    expect(decide({}, KNOWN.now, "whsec_c2VjcmV0")).toMatchObject({ isSigned: false });
  });
});

describe("the official library", () => {
  const id = "msg_1";
  const body = JSON.stringify({ type: "escalation", text: "사람이 정해 주세요" });
  const now = systemClock.now();
  const given = [
    ["plain", "a-plain-secret-0123456789", new Webhook("a-plain-secret-0123456789", RAW)],
    ["whsec_", BASE64, new Webhook(BASE64)],
  ] as const;

  test.each(given)("takes what dure has signed, with a %s secret", (_kind, secret, official) => {
    const headers = webhookHeaders({ id, body }, { secret, clock: systemClock });

    expect(official.verify(body, headers)).toEqual(JSON.parse(body));
    expect(() => official.verify(`${body} `, headers)).toThrow("No matching signature");
  });

  test.each(given)("signs what dure takes, with a %s secret", (_kind, secret, official) => {
    const timestamp = String(Math.floor(now / 1_000));
    const signature = official.sign(id, new Date(now), body);
    const signed = { id, timestamp, signature, body: Buffer.from(body) };

    expect(decideSignature(signed, secret, now / 1_000)).toEqual({ isSigned: true, id });
    expect(decideSignature(signed, `x${secret}`, now / 1_000)).toMatchObject({ isSigned: false });
  });
});
