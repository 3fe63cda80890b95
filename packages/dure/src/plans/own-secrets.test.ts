import { expect, test } from "vitest";
import { isOwnSecret } from "./own-secrets.ts";

test.each([
  "DURE_TOKEN",
  "DURE_WEBHOOK_SECRET",
  "DATABASE_URL",
  "DISCORD_TOKEN_RUDA",
  "SLACK_BOT_TOKEN_RUDA",
  "SLACK_APP_TOKEN",
  "PIGEON_BOT_TOKEN_RUDA",
])("%s is kept from workers, also when its platform is not one of dure's", (name) => {
  expect(isOwnSecret(name)).toBe(true);
});

test.each(["GITHUB_TOKEN", "NPM_TOKEN", "ANTHROPIC_API_KEY", "PATH", "MY_DURE_TOKENS"])(
  "%s is the person's own, and a plan may name it",
  (name) => {
    expect(isOwnSecret(name)).toBe(false);
  },
);
