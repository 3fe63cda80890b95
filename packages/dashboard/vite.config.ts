import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defaultClientConditions, defaultServerConditions, defineConfig } from "vite";
import { wordModules } from "./catalogue.ts";
import { writePages } from "./parts-of-pages.ts";
import { themeSheet } from "./theme-sheet.ts";

/** Which server stands behind the page while it is made. */
const SERVER = process.env["DURE_URL"] ?? "http://127.0.0.1:4600";

/** What several pages share and what is lighter than a request for each of them. */
const SMALL = new RegExp(
  [
    "@tabler",
    "dure/src/kernel/(jobs|plans|escalation)\\.",
    "src/(when|asked|use-address|whole-page|facts|fact-words|side|coded|prose|use-server-korean)\\.",
    "src/(costs/sums|escalations/order|escalations/escalation-title|jobs/status-badge|jobs/exchange)\\.",
  ].join("|"),
);

/**
 * The server serves the folder under `/` with a strict CSP: no inline script, nothing from
 * elsewhere.
 */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [wordModules(), react(), themeSheet(), writePages()],
  resolve: { conditions: ["dure-source", ...defaultClientConditions] },
  build: {
    outDir: fileURLToPath(new URL("../dure/dashboard", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0, // a data: URL for a font or script would need a wider CSP
    // `lazy-part.ts` asks for the code of what is fetched later.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_file, needed, { hostType }) => (hostType === "html" ? needed : []),
    },
    license: { fileName: "licences.json" }, // scripts/build.ts takes it
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\// },
            // Of others, what every page needs: read in a task of its own.
            { name: "kit", test: /node_modules\/.*\.m?js$/, tags: ["$initial"] },
            { name: "first", tags: ["$initial"] }, // what every page needs, in one request
            {
              name: "small",
              test: SMALL,
              minShareCount: 2,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
  ssr: { resolve: { conditions: ["dure-source", ...defaultServerConditions] } }, // for tests that import a module of the page
  server: { proxy: { "/v1": SERVER, "/healthz": SERVER, "/readyz": SERVER } },
});
