import type { Plugin } from "vite";

/** How many times longer a test may take that looks late. */
const FACTOR = 10;

/** Tests that look late (kernel/test-late.ts) may take longer: their `timeout` is multiplied. */
export const longerTimes: Plugin = {
  name: "longer-times",
  enforce: "pre",
  transform: (code, id) =>
    /\.test\.tsx?$/.test(id)
      ? code.replace(/\btimeout: (?=[\d_]+_000\b)/g, `timeout: ${FACTOR} * `)
      : undefined,
};
