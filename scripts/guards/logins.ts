import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const MCP = "packages/dure/src/mcp";
const logins = testsIn(`${MCP}/person-login.test.ts`);

/** Who logs in at an MCP server, and where tokens go. */
export const LOGIN_GUARDS: readonly Guard[] = [
  {
    id: "login.state",
    at: { file: `${MCP}/loopback.ts` },
    find: 'if (!isSame(asked.get("state") ?? "", state)) return',
    replace: 'if (asked.get("state") === "") return',
    tests: logins("a call with another state is refused"),
    why: "another page logs the team in as someone else",
  },
  {
    id: "login.address",
    at: { file: `${MCP}/person-login.ts` },
    find: "if (url !== wanted) return false;",
    replace: 'if (url === "") return false;',
    tests: logins("a login does not count for another address"),
    why: "a token goes to another server",
  },
  {
    id: "login.issuer",
    at: { file: `${MCP}/log-in.ts` },
    find: "if (spec.issuer !== undefined && issuer !== spec.issuer) throw",
    replace: 'if (spec.issuer === "") throw',
    tests: logins("only the authorization server of the settings is taken"),
    why: "a server chooses who logs its people in",
  },
  {
    id: "login.renewed-once",
    at: { file: `${MCP}/person-login.ts` },
    find: "if (login.accessToken !== refused) return login.accessToken;",
    replace: 'if (refused === "") return refused;',
    tests: logins("of many that renew at once one does"),
    why: "processes take each other's login away",
  },
];
