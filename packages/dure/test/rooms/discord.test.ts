import { discordPlatform } from "./discord-platform.ts";
import { roomScenarios } from "./scenarios.ts";

roomScenarios("discord", discordPlatform);
