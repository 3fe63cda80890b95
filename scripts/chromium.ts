/**
 * What the tests need of the system: a browser for the dashboard, tools of isolation; those that
 * are there, else Debian's or Ubuntu's through apt.
 */

import { existsSync } from "node:fs";
import { run } from "./processes.ts";

export type BrowserResult =
  | { readonly ok: true; readonly path: string; readonly note?: string | undefined }
  | { readonly ok: false; readonly reason: string; readonly hint: string };

/**
 * Where the makers of Chromium and Chrome put it. The one without windows goes first: the tests
 * take a third less of the machine with it.
 */
const KNOWN_PLACES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: [
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
  ],
  darwin: [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ],
  win32: [
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ],
};

/**
 * Korean is drawn from here; without it the screenshots and the measures of text would be those of
 * empty boxes.
 */
const KOREAN_FONT = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc";

/**
 * Finds or installs Chromium, and the CJK font where apt can bring it. Changes nothing when both
 * are there.
 */
export async function ensureChromium(env: NodeJS.ProcessEnv = process.env): Promise<BrowserResult> {
  const given = env["CHROMIUM_PATH"];
  if (given !== undefined) {
    if (existsSync(given)) return { ok: true, path: given };
    return {
      ok: false,
      reason: `CHROMIUM_PATH names ${given}, which does not exist`,
      hint: "Correct it, or unset it.",
    };
  }

  const font = process.platform === "linux" && !existsSync(KOREAN_FONT) ? ["fonts-noto-cjk"] : [];
  let trouble = await installMissing([
    ...(findChromium() === undefined ? ["chromium-headless-shell"] : []),
    ...font,
  ]);
  // Not every system has the smaller one.
  if (findChromium() === undefined) trouble = await installMissing(["chromium", ...font]);

  const found = findChromium();
  if (found !== undefined) return { ok: true, path: found, note: trouble };
  return {
    ok: false,
    reason: trouble ?? "Chromium was not found",
    hint:
      "Install Chromium or Chrome, or set CHROMIUM_PATH to its program. The browser tests fail " +
      "until then.",
  };
}

/**
 * bubblewrap confines workers, iproute2 brings up their loopback, nginx is the proxy of the guide.
 * Without them the tests that need them fail and name the package.
 */
const TOOLS = {
  bubblewrap: "/usr/bin/bwrap",
  iproute2: "/usr/bin/ip",
  "nginx-light": "/usr/sbin/nginx",
} as const;

/** Only the full tests ask kubectl about the manifests. */
const TOOLS_OF_FULL = { ...TOOLS, "kubernetes-client": "/usr/bin/kubectl" } as const;

/**
 * Installs the tools that the tests need where apt can bring them. What went wrong, in one line;
 * the tests run all the same.
 */
export async function ensureTools({ full = false } = {}): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const missing = Object.entries(full ? TOOLS_OF_FULL : TOOLS).flatMap(([name, place]) =>
    existsSync(place) || existsSync(place.replace("/usr", "")) ? [] : [name],
  );
  return installMissing(missing);
}

function findChromium(): string | undefined {
  return KNOWN_PLACES[process.platform]?.find((place) => existsSync(place));
}

/** Undefined after success, or with nothing to do; else what went wrong in one line. */
async function installMissing(packages: readonly string[]): Promise<string | undefined> {
  if (packages.length === 0) return undefined;
  const wanted = packages.join(" and ");
  if (!existsSync("/usr/bin/apt-get")) return `${wanted} missing, and there is no apt-get here`;

  const asRoot = process.getuid?.() === 0;
  if (!asRoot && (await run("sudo", ["-n", "true"])).exitCode !== 0) {
    return `${wanted} missing, and apt-get needs root: sudo apt-get install ${packages.join(" ")}`;
  }
  console.log(`[test] installing ${wanted} with apt-get`);
  const apt = (...args: string[]) => {
    const whole = [
      "env",
      "DEBIAN_FRONTEND=noninteractive",
      "apt-get",
      "-qq",
      ...APT_LIMITS,
      ...args,
    ];
    return asRoot ? run(whole[0]!, whole.slice(1)) : run("sudo", ["-n", ...whole]);
  };
  await apt("update"); // an old list may still do, so its failure decides nothing
  const installed = await apt("install", "--yes", "--no-install-recommends", ...packages);
  if (installed.exitCode === 0) return undefined;
  return `apt-get could not install ${wanted}: ${installed.output.trim().split("\n").at(-1) ?? ""}`;
}

/**
 * Seconds: waiting for another apt-get is worth two minutes, a mirror that does not answer is not.
 */
const APT_LIMITS = [
  "-o",
  "DPkg::Lock::Timeout=120",
  "-o",
  "Acquire::Retries=2",
  "-o",
  "Acquire::http::Timeout=20",
];
