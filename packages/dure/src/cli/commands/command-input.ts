/** What the code of the commands works with. */
import path from "node:path";
import { connect, environmentOf, serverOf } from "../connect.ts";
import type { CommandContext, CommonOptions, AsPersonOptions } from "./command.ts";

/** Of a command that works in the team's folder. */
export async function folderCommand({ output }: CommandContext, { dir }: CommonOptions) {
  return { folder: path.resolve(dir), environment: await environmentOf(dir), output };
}

/** Of a command that calls the server. Throws `SERVER_UNREACHABLE`. */
export async function clientCommand({ output }: CommandContext, options: CommonOptions) {
  return { client: await connect(options), output };
}

/** Of a command that calls the server in the name of a person. */
export async function personCommand(context: CommandContext, options: AsPersonOptions) {
  const command = await clientCommand(context, options);
  const { token } = await serverOf(options);
  const person = token === undefined ? (options.as ?? "operator") : options.as;

  return { ...command, person };
}
