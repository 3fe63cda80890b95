/**
 * Runs the bank on its own: `node examples/transfer/bank/main.ts [--listen 4010] [--file
 * bookings.ndjson]
 * [--while-stdin]`. Prints its address as one JSON line, `{"url":"http://127.0.0.1:4010"}`, and
 * stops on SIGTERM or SIGINT; with `--while-stdin` also when its stdin has ended and no request has
 * come in half a minute.
 */
import { parseArgs } from "node:util";
import { startBank } from "./bank.ts";

const { values } = parseArgs({
  options: {
    listen: { type: "string", default: "0" },
    file: { type: "string" },
    "while-stdin": { type: "boolean", default: false },
  },
});

const bank = await startBank({
  port: Number(values.listen),
  file: values.file,
});
console.log(JSON.stringify({ url: bank.url }));
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void bank.stop());

if (values["while-stdin"]) {
  process.stdin.resume().once("close", () => {
    const look = setInterval(() => {
      if (bank.idleMs() < 30_000) return;
      clearInterval(look);
      void bank.stop();
    }, 1_000);
  });
}
