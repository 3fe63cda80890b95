import { expect, test } from "vitest";
import { manualClock } from "../../kernel/test-clock.ts";
