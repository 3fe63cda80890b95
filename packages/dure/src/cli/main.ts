/** The program behind the command `dure`: runs when it is loaded. */
import { main } from "./program.ts";

process.exitCode = await main(process.argv.slice(2));
