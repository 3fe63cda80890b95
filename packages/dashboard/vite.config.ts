import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defaultClientConditions, defaultServerConditions, defineConfig } from "vite";

/** Which server stands behind the page while it is made. */
const SERVER = process.env["DURE_URL"] ?? "http://127.0.0.1:4600";

/**
 * The server serves the folder under `/` with a strict CSP: no inline script, nothing from
 * elsewhere.
 */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react()],
  resolve: { conditions: ["dure-source", ...defaultClientConditions] },
  build: {
    outDir: fileURLToPath(new URL("../dure/dashboard", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0, // a data: URL for a font or script would need a wider CSP
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: "mantine", test: /node_modules\/(@mantine|@floating-ui|react-remove-scroll)/ },
            { name: "tanstack", test: /node_modules\/@tanstack\// },
          ],
        },
      },
    },
  },
  ssr: { resolve: { conditions: ["dure-source", ...defaultServerConditions] } }, // for tests that import a module of the page
  server: { proxy: { "/v1": SERVER, "/healthz": SERVER } },
});
