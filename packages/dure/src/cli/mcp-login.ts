import path from "node:path";
import { systemClock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { clientDocument, logIn } from "../mcp/log-in.ts";
import { LoginStore } from "../mcp/login-store.ts";
import { clientSecretOf } from "../mcp/open-transport.ts";
import { revoke, type Revocation } from "../mcp/revoke.ts";
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
  const { mcp: words } = output.words.admin;
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
      output.note(words.open(by));
      output.line(address);
    },
  });
  output.line(words.in(issuer));
  output.result({ server: name, issuer });

  return EXIT.ok;
}

/**
 * `dure mcp logout`: the tokens are ended at the server that gave them, and removed from this machine
 * whatever it says. A process that dies before has removed nothing: the person logs out again.
 */
export async function logoutAtServer(name: string, command: McpLoginCommand): Promise<ExitCode> {
  const { output } = command;
  const store = storeOf(command);
  const clientSecret = await secretOf(name, command);
  const { revocation, issuer, removed } = await store.alone(name, async () => {
    const login = await store.read(name);
    const ended = login && (await revoke(login, { clientSecret, clock: systemClock }));
    return { revocation: ended, issuer: login?.issuer, removed: await store.remove(name) };
  });
  const { mcp: words } = output.words.admin;
  output.line(removed ? words.out(name) : words.notIn(name));
  if (revocation && issuer !== undefined) tellRevocation(revocation, issuer, output);
  output.result({ server: name, removed, revocation: revocation ?? null });

  return EXIT.ok;
}

/** `dure mcp document`: what stands at the address of `login.clientDocument`. */
export async function printClientDocument(
  address: string,
  { output }: Pick<McpLoginCommand, "output">,
): Promise<ExitCode> {
  const document = documentAt(address);
  output.line(JSON.stringify(document, null, 2));
  output.note(output.words.admin.mcp.putDocument(address));
  output.result(document);

  return EXIT.ok;
}

function documentAt(address: string): object {
  try {
    return clientDocument(address);
  } catch (error) {
    throw new DureError("MCP_DOCUMENT_ADDRESS", messageOf(error), {
      class: "input",
      hint: "Name an https address with a path, such as https://example.com/dure-client.json.",
    });
  }
}

function tellRevocation(revocation: Revocation, issuer: string, output: Output): void {
  const { mcp: words } = output.words.admin;
  switch (revocation.is) {
    case "revoked":
      output.line(words.revoked(issuer));
      return;
    case "not-offered":
      output.note(words.notOffered(issuer));
      return;
    case "failed":
      output.note(words.notRevoked(issuer, revocation.because));
      return;
    default:
      revocation satisfies never;
  }
}

/** A server that the team has no more has no secret either. */
async function secretOf(name: string, command: McpLoginCommand): Promise<string | undefined> {
  try {
    const { login } = await serverOf(name, command);
    return clientSecretOf(login, childEnvironment({}));
  } catch {
    return undefined;
  }
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
