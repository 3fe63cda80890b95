import { createHash, randomBytes } from "node:crypto";

/** Secret of one step, for the tools that its worker calls: 256 random bits. */
export function newHookToken(): string {
  return `hook_${randomBytes(32).toString("base64url")}`;
}

/** What is kept of it: SHA-256 needs no salt over 256 random bits. */
export function hashHookToken(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}
