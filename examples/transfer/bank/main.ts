/**
 * Runs the bank on its own: `node examples/transfer/bank/main.ts [--listen 4010] [--file bookings.ndjson]`.
 * Prints its address as one JSON line, `{"url":"http://127.0.0.1:4010"}`, and stops on SIGTERM or SIGINT.
 */
import { parseArgs } from "node:util";
import { startBank } from "./bank.ts";

const { values } = parseArgs({ options: { listen: { type: "string", default: "0" }, file: { type: "string" } } });

const bank = await startBank({ port: Number(values.listen), ...(values.file !== undefined && { file: values.file }) });
console.log(JSON.stringify({ url: bank.url }));
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void bank.stop());
