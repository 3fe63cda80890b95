import { once } from "node:events";
import { copyFile, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

/*
 * Serves copilotkit-page.mjs, and CopilotKit's runtime with two agents of dure behind it. Run by
 * test-copilotkit.ts in a folder that has the packages. Prints its address.
 */

const [dure, folder] = process.argv.slice(2);
const load = (name) => import(import.meta.resolve(name, folder));
const { CopilotRuntime } = await load("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await load("@copilotkit/runtime/v2/node");
const { HttpAgent } = await load("@ag-ui/client");
const { build } = await load("esbuild");

const home = path.dirname(fileURLToPath(folder));
const entry = path.join(home, "page.mjs");
await copyFile(new URL("copilotkit-page.mjs", import.meta.url), entry);
const [script] = (
  await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "error",
    loader: { ".woff": "dataurl", ".woff2": "dataurl", ".ttf": "dataurl" },
    define: { "process.env.NODE_ENV": '"production"' },
    outdir: home,
  })
).outputFiles.filter(({ path: file }) => file.endsWith(".js"));
const styles = "@copilotkit/react-core/v2/styles.css";
const style = await readFile(fileURLToPath(import.meta.resolve(styles, folder)));

const PAGE = `<!doctype html><html lang="ko"><meta charset="utf-8"><title>dure</title>
<link rel="stylesheet" href="/page.css"><style>html,body,main{height:100%;margin:0}
[aria-label=question]{display:flex;gap:8px;align-items:center;padding:8px 0}
[aria-label=question] button{border:1px solid #888;border-radius:8px;padding:6px 14px}</style>
<main></main><script type="module" src="/page.js"></script></html>`;
const files = {
  "/": ["text/html; charset=utf-8", PAGE],
  "/page.js": ["text/javascript", script.contents],
  "/page.css": ["text/css", style],
};
const agentAt = (name) => new HttpAgent({ url: `${dure}/ag-ui/v1/agents/${name}` });
const runtime = new CopilotRuntime({
  agents: { desk: agentAt("desk"), transfer: agentAt("transfer") },
});
const answer = createCopilotNodeListener({ runtime, basePath: "/api/copilotkit" });
const server = createServer((request, response) => {
  const [type, body] = files[new URL(request.url, "http://page").pathname] ?? [];
  if (type === undefined) return answer(request, response);
  response.writeHead(200, { "content-type": type }).end(body);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${server.address().port}`);
