/**
 * Pictures of rooms over the real server, for human eyes, and what axe finds there:
 * `node --conditions=dure-source test/look-rooms.ts FOLDER [ko-390-light …]`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser, siteInPackage } from "./browser.ts";
import { furnishedTeam, scenes, SIGHTS } from "./rooms/scenes.ts";
import { faultsOf } from "./rooms/visit.ts";

const [folder = "pictures", ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
await siteInPackage();
await using browser = await launchBrowser();
for (const language of ["ko", "en"] as const) {
  const sights = SIGHTS.filter((sight) => {
    const name = `${sight.language}-${sight.width}-${sight.scheme}`;
    return sight.language === language && (wanted.length === 0 || wanted.includes(name));
  });
  if (sights.length === 0) continue;
  await using team = await furnishedTeam(language);
  for (const sight of sights) {
    const { width, scheme } = sight;
    for await (const { name, opened } of scenes(browser, team, sight)) {
      const picture = join(folder, `${name}-${language}-${width}-${scheme}.png`);
      await opened.page.screenshot({ path: picture });
      const faults = await faultsOf(opened, { isTouch: width === 390 });
      for (const fault of faults) console.log(picture, fault);
    }
  }
}
