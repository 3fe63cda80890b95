import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { type AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { expect, test } from "vitest";
import type { ServiceInfo } from "../wire/turns.ts";
import { agentCard } from "./agent-card.ts";
import { cardSigner } from "./card-signature.ts";

const DESK: ServiceInfo = {
  name: "desk",
  title: "데스크",
  description: "Helps, “quoted”.",
  examples: [],
  flows: [],
  default: true,
};
const pair = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }) as string;

function cardOf(): object {
  return agentCard(DESK, { origin: "http://127.0.0.1:1", version: "1.0.0" });
}

test("the official library verifies a signed card, and no card that was changed", async () => {
  const { privateKey, publicKey } = pair("P-256");
  const signed = cardSigner(pemOf(privateKey))(cardOf());
  const verify = verifyAgentCardSignature(() => Promise.resolve(publicKey));

  // As it came: what the library makes of it first has lost the security schemes.
  await expect(verify(signed as AgentCard)).resolves.toBeUndefined();
  const changed = { ...signed, description: "Another." };
  await expect(verify(changed as AgentCard)).rejects.toThrow();
});

test("what is no private key of P-256 is refused", () => {
  for (const pem of ["", "no key", pemOf(pair("P-384").privateKey)]) {
    expect(() => cardSigner(pem)).toThrow("P-256");
  }
});
