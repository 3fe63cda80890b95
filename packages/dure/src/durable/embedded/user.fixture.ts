// A process that uses the embedded server of the folder in argv[2] until it reads a line, then
// leaves politely. argv[3]: how long the server may be idle.
import { once } from "node:events";
import { silentLogger } from "../../kernel/logger.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";

const server = await EmbeddedPostgres.start({
  home: process.argv[2]!,
  logger: silentLogger,
  durable: false,
  idleMs: Number(process.argv[3] ?? 0),
});
process.stdout.write(
  `${JSON.stringify({ url: server.url, reused: server.reused, postmaster: server.pid })}\n`,
);
await once(process.stdin, "data");
await server.stop();
process.stdin.destroy();
