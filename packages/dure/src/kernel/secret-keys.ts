/**
 * Members whose values are told nowhere: not in a log, not in a call of a tool. Source:
 * docs/spec/platform §6, §7.
 */
export const SECRET_KEYS = [
  "token",
  "apiKey",
  "password",
  "secret",
  "authorization",
  "databaseUrl",
  "connectionString",
] as const;

/** In the place of such a value. */
export const SECRET_VALUE = "[secret]";

const ENDINGS = SECRET_KEYS.map((key) => key.toLowerCase());

/** Whether a member is one of them, however it is spelt: `access_token`, `X-Api-Key`. Pure. */
export function isSecretKey(key: string): boolean {
  const plain = key.toLowerCase().replaceAll(/[^a-z0-9]/gu, "");
  return ENDINGS.some((ending) => plain.endsWith(ending));
}
