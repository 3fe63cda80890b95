import { roomScenarios } from "./scenarios.ts";
import { webPlatform } from "./web-platform.ts";

roomScenarios("web", webPlatform);
