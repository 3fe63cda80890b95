/** The program behind the command `dure`: runs when it is loaded. */
import { endWithReader } from "./closed-pipe.ts";
import { main } from "./program.ts";

endWithReader(process);
process.exitCode = await main(process.argv.slice(2));
