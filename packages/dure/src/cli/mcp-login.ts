import path from "node:path";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { logIn } from "../mcp/log-in.ts";
import { LoginStore } from "../mcp/login-store.ts";
import { clientSecretOf } from "../mcp/open-transport.ts";
import { isLocal, type PersonLoginSpec } from "../mcp/server-spec.ts";
import { loadTeam } from "../team/config.ts";
import { childEnvironment, type Environment } from "../team/environment.ts";
import { SETTINGS } from "../team/limits.ts";
import { mcpSpecsOf } from "../team/mcp.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface McpLoginCommand {
  readonly folder: string;
  readonly environment: Environment;
  readonly output: Output;
}

/** `dure mcp login`: a person lets the agents of the team into a server. */
export async function loginAtServer(name: string, command: McpLoginCommand): Promise<ExitCode> {
  const { output } = command;
  const { url, login } = await serverOf(name, command);
  const issuer = await logIn({
    name,
    url,
    spec: login,
    clientSecret: clientSecretOf(login, childEnvironment({})),
    store: storeOf(command),
    clock: systemClock,
    signal: undefined,
    onAddress: (address, by) => {
      output.note(`Log in at ${by}, in a browser on this machine:`);
      output.line(address);
    },
  });
  output.line(`Logged in at ${issuer}. Agents of this team now act there as you.`);
  output.result({ server: name, issuer });

  return EXIT.ok;
}

/** `dure mcp logout`: the tokens are removed from this machine. */
export async function logoutAtServer(name: string, command: McpLoginCommand): Promise<ExitCode> {
  const store = storeOf(command);
  const wasThere = await store.alone(name, () => store.remove(name));
  command.output.line(wasThere ? `Logged out of ${name}.` : `There was no login at ${name}.`);
  command.output.result({ server: name, removed: wasThere });

  return EXIT.ok;
}

function storeOf({ folder, environment }: McpLoginCommand): LoginStore {
  const home = path.resolve(folder, environment.home ?? SETTINGS.home.fallback);
  return new LoginStore({ home, clock: systemClock });
}

/** Throws `MCP_SERVER_UNKNOWN`, `MCP_LOGIN_NOT_SET`. */
async function serverOf(
  name: string,
  { folder }: McpLoginCommand,
): Promise<{ readonly url: string; readonly login: PersonLoginSpec }> {
  const specs = mcpSpecsOf(await loadTeam(folder));
  const spec = specs.get(name);
  if (!spec) {
    throw new DureError("MCP_SERVER_UNKNOWN", `There is no MCP server "${name}".`, {
      class: "input",
      hint: `Servers of this team are: ${[...specs.keys()].join(", ") || "none"}.`,
    });
  }
  if (!isLocal(spec) && spec.login) return { url: spec.url, login: spec.login };
  throw new DureError("MCP_LOGIN_NOT_SET", `The MCP server ${name} takes no person's login.`, {
    class: "input",
    hint: `Give it one in the configuration: ${name}: { url: …, login: {} }.`,
  });
}
