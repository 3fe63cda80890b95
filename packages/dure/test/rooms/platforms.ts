import { bothPlatforms, webAndSlack } from "./both-platforms.ts";
import { discordPlatform } from "./discord-platform.ts";
import { sampled } from "../../src/kernel/test-tiers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import { webPlatform } from "./web-platform.ts";

/** What every scenario of docs/spec/collaboration runs on, for `describe.each`. */
export const PLATFORMS: readonly (readonly [
  name: string,
  make: () => TestPlatform | Promise<TestPlatform>,
])[] = [
  ["web", webPlatform],
  ["discord", () => discordPlatform()],
  ["discord", bothPlatforms],
  ["slack", () => slackPlatform()],
  ["slack", () => webAndSlack()],
];

/** One of them in `npm test`, both else; for the files whose scenarios do not differ by platform. */
export const PLATFORM = sampled(PLATFORMS, 1);
