import type { Guard } from "../mutate.ts";
import { access, testsIn } from "./tests-in.ts";

const SERVER = "packages/dure/src/server";
const MODE = `${SERVER}/access-mode.ts`;
const PEERS = `${SERVER}/peer-owner.ts`;
const LOGINS = `${SERVER}/logins.ts`;
const ROWS = `${SERVER}/login-rows.ts`;
const mode = testsIn(`${SERVER}/access-mode.test.ts`);
const peers = testsIn(`${SERVER}/peer-owner.test.ts`);
const logins = testsIn(`${SERVER}/logins.test.ts`);
const connections = testsIn(`${SERVER}/connections.test.ts`);
const streams = testsIn(`${SERVER}/streams.test.ts`);
const body = testsIn(`${SERVER}/body.test.ts`);
const planFile = testsIn("packages/dure/src/plans/plan-file.test.ts");

/** Who counts as the person at the machine, and how long a login holds. */
export const DOOR_GUARDS: readonly Guard[] = [
  {
    id: "doors.scope.by-name",
    at: { file: `${SERVER}/access.ts` },
    find: '(given === "admin" && !SCOPES_BY_NAME.has(scope))',
    replace: 'given === "admin"',
    tests: access("admin and plans do not hold plans:confirm"),
    why: "an admin takes protection away from the machine without a word about it",
  },

  // --- requests that two readers could read in two ways
  {
    id: "doors.header.twice",
    at: { file: `${SERVER}/guard.ts` },
    find: "assertOneOfEach(request.raw.rawHeaders);",
    replace: "",
    tests: access("with two is answered 400 HEADER_TWICE"),
    why: "a proxy checks one Host or token, and dure reads the other",
  },
  {
    id: "doors.header.address",
    at: { file: `${SERVER}/guard.ts` },
    find: 'assertSameHost(request.raw.url ?? "", host);',
    replace: "",
    tests: access("with a foreign host in its address is answered 403 HOST_NOT_ALLOWED"),
    why: "a request for another host is answered under this one's name",
  },
  {
    id: "doors.stream.revoked",
    at: { file: `${SERVER}/guard.ts` },
    find: "const RECHECK_MS = 2_000;",
    replace: "const RECHECK_MS = 15_000;",
    tests: access("a revoked token's open streams end at a look that comes every 2 s at least"),
    why: "a revoked token goes on reading for a quarter of a minute",
  },

  // --- the person at the machine
  {
    id: "doors.local.mode",
    at: { file: MODE },
    find: 'if (mode === "credentials") return stranger(because);',
    replace: "",
    tests: mode("where credentials are needed, the reason is the server's own"),
    why: "a server whose callers need credentials lets local ones in without",
  },
  {
    id: "doors.local.machine",
    at: { file: MODE },
    find: 'if (!arrival.peerIsLoopback) return stranger("other-machine");',
    replace: "",
    tests: mode("it is a stranger"),
    why: "another machine counts as the person at this one",
  },
  {
    id: "doors.local.forwarded",
    at: { file: MODE },
    find: 'if (arrival.forwardedBy !== undefined) return stranger("forwarded");',
    replace: "",
    tests: mode("it is a stranger"),
    why: "whom a proxy lets through counts as the person at the machine",
  },
  {
    id: "doors.local.http",
    at: { file: MODE },
    find: 'if (arrival.httpVersion === "1.0" || arrival.httpVersion === "0.9") return stranger("http-1.0");',
    replace: "",
    tests: mode("it is a stranger"),
    why: "whom an old proxy lets through, without a header, counts as the person at the machine",
  },
  {
    id: "doors.local.name",
    at: { file: MODE },
    find: 'if (!arrival.hostIsLoopback) return stranger("public-name");',
    replace: "",
    tests: mode("it is a stranger"),
    why: "a request for a public name counts as the person at the machine",
  },
  {
    id: "doors.local.other-user",
    at: { file: MODE },
    find: 'if (owner === "other-user") return stranger("other-user");',
    replace: "",
    tests: mode("a local connection of the server's own user, and no other"),
    why: "another user of the machine does everything",
  },
  {
    id: "doors.local.unknown",
    at: { file: MODE },
    find: 'if (owner === "unknown") return stranger("user-unknown");',
    replace: "",
    tests: mode("a local connection of the server's own user, and no other"),
    why: "where the system does not say whose a connection is, everyone does everything",
  },
  {
    id: "doors.mode.token",
    at: { file: MODE },
    find: 'if (facts.hasLivingToken) return needed("token-exists");',
    replace: "",
    tests: mode("because of"),
    why: "callers without a token come in beside those who need one",
  },
  {
    id: "doors.mode.proxy",
    at: { file: MODE },
    find: 'if (facts.trustProxy.length > 0) return needed("behind-a-proxy");',
    replace: "",
    tests: mode("because of"),
    why: "a server behind a proxy needs no credentials",
  },
  {
    id: "doors.peer.uid",
    at: { file: PEERS },
    find: 'return uid === this.#uid ? "same-user" : "other-user";',
    replace: 'return uid >= 0 ? "same-user" : "other-user";',
    tests: peers("for another uid the same connection is another user's"),
    why: "another user's connection counts as one's own",
  },
  {
    id: "doors.peer.closed",
    at: { file: PEERS },
    find: "if (row.state !== ESTABLISHED || row.inode === 0) return;",
    replace: "",
    tests: peers("a connection that its program has closed has no owner"),
    why: "who closes at once counts as root",
  },
  {
    id: "doors.peer.key",
    at: { file: PEERS },
    find: "const key = `${row.local} ${row.remote}`;\n    wanted.get(key)?.(row.uid);",
    replace:
      "const key = `${row.local} ${row.remote}`;\n    for (const tell of wanted.values()) tell(row.uid + 1);",
    tests: peers("a connection to 127.0.0.1 of our own is ours"),
    why: "the owner of another connection answers for this one",
  },

  // --- logins
  {
    id: "logins.ended",
    at: { file: LOGINS },
    find: 'if (row.revokedAt !== null) return { holds: false, because: "ended" };',
    replace: "",
    tests: logins("not when it was ended"),
    why: "a login that was ended holds",
  },
  {
    id: "logins.expired",
    at: { file: LOGINS },
    find: 'if (now >= row.expiresAt) return { holds: false, because: "expired" };',
    replace: "",
    tests: logins("not beyond its life, however it is used"),
    why: "a login that is used holds for ever",
  },
  {
    id: "logins.idle",
    at: { file: LOGINS },
    find: 'if (now >= row.usedAt + LOGIN_LIMITS.idleMs) return { holds: false, because: "idle" };',
    replace: "",
    tests: logins("not when it was idle"),
    why: "a login that was left open holds",
  },
  {
    id: "logins.previous",
    at: { file: LOGINS },
    find: "now < (row.previousUntil ?? 0) && timingSafeEqual(row.previousHash, hash)",
    replace: "timingSafeEqual(row.previousHash, hash)",
    tests: logins("not with the one before, later"),
    why: "a secret that was replaced holds on",
  },
  {
    id: "logins.token",
    at: { file: LOGINS },
    find: "if (!found || !(await this.#find(found.row.tokenId))) return false;",
    replace: "if (!found) return false;",
    tests: logins("end with their token, and when they are ended"),
    why: "an open stream outlives the token of its login",
  },
  {
    id: "logins.end.own",
    at: { file: LOGINS },
    find: "(of.tokenId ?? found.row.tokenId) !== found.row.tokenId || ",
    replace: "",
    tests: logins("end with their token, and when they are ended"),
    why: "a caller ends the logins of others",
  },
  {
    id: "logins.offer.once",
    at: { file: ROWS },
    find: '\n       and (next_at is null or next_at <= clock_timestamp() - ${ms("$4")})',
    replace: '\n       and (next_at is null or next_at <= clock_timestamp() + ${ms("$4")})',
    tests: logins("get another secret while they are used"),
    why: "each of two parallel requests replaces the secret that the other was given",
  },
  {
    id: "logins.promote.known",
    at: { file: ROWS },
    find: "where id = $1 and next_hash = $2`",
    replace: "where id = $1 and next_hash is not null and $2::bytea is not null`",
    tests: logins("get another secret while they are used"),
    why: "a secret that was not handed out replaces the one that holds",
  },
  {
    id: "logins.most",
    at: { file: ROWS },
    find: "where token_id = $2 and revoked_at is null order by created_at desc, id desc offset $7::integer",
    replace:
      "where token_id = $2 and revoked_at is null order by created_at desc, id desc offset $7::integer + 1",
    tests: logins("of one token a hundred hold"),
    why: "one token holds any number of logins",
  },
  {
    id: "logins.link.once",
    at: { file: ROWS },
    find:
      "delete from dure.login_links where hash = $1 returning token_id, expires_at > " +
      "clock_timestamp() as holds",
    replace:
      "update dure.login_links set hash = hash where hash = $1 returning token_id, expires_at > " +
      "clock_timestamp() as holds",
    tests: logins("a link logs in once, in any process"),
    why: "a link that someone finds later logs in again",
  },
  {
    id: "logins.link.time",
    at: { file: ROWS },
    find: "return link?.holds === true ? link.token_id : null;",
    replace: "return link?.token_id ?? null;",
    tests: logins("a link logs in once, in any process"),
    why: "a link logs in for ever",
  },
];

/** How much one caller, and all together, may take. */
export const BOUND_GUARDS: readonly Guard[] = [
  {
    id: "bounds.streams.token",
    at: { file: `${SERVER}/connections.ts` },
    find: "this.#streamsOfToken.of(token) >= streamsPerToken",
    replace: "this.#streamsOfToken.of(token) > streamsPerToken",
    tests: connections("one token has so many streams"),
    why: "one token takes the streams of all",
  },
  {
    id: "bounds.streams.address",
    at: { file: `${SERVER}/connections.ts` },
    find: "this.#streamsOfAddress.of(counted) >= ofAddress",
    replace: "this.#streamsOfAddress.of(counted) > ofAddress",
    tests: connections("one address has so many streams"),
    why: "one address takes the streams of all",
  },
  {
    id: "bounds.streams.total",
    at: { file: `${SERVER}/connections.ts` },
    find: "this.#streamsOfAddress.total >= streams",
    replace: "this.#streamsOfAddress.total > streams",
    tests: connections("the server has so many streams in all"),
    why: "streams are opened without end",
  },
  {
    id: "bounds.streams.leave",
    at: { file: `${SERVER}/connections.ts` },
    find: "      leaveAddress();\n      leaveToken();",
    replace: "      leaveAddress();",
    tests: connections("one token has so many streams"),
    why: "a token that opened and closed its streams may open none any more",
  },
  {
    id: "bounds.streams.bytes",
    at: { file: `${SERVER}/sse.ts` },
    find: "while (bytes > 0 && this.#waiting > this.#limits.streamsBytes) {",
    replace: "while (bytes > 0 && this.#waiting < 0) {",
    tests: streams("when all readers together hold too much"),
    why: "readers that do not read fill the memory together",
  },
  {
    id: "bounds.stream.full",
    at: { file: `${SERVER}/sse.ts` },
    find: "this.#response.writableLength >= this.#limits.bufferBytes",
    replace: "this.#limits.bufferBytes < 0",
    tests: streams("a reader that does not read holds at most its buffer"),
    why: "one reader that does not read fills the memory",
  },
  {
    id: "bounds.json.depth",
    at: { file: `${SERVER}/body.ts` },
    find: "if (depth > jsonDepth) throw",
    replace: "if (depth > jsonDepth + 1) throw",
    tests: body("one level deeper"),
    why: "a body nested deeper than the stack ends the process",
  },
  {
    id: "bounds.json.values",
    at: { file: `${SERVER}/body.ts` },
    find: "if (values > jsonValues) throw",
    replace: "if (values > jsonValues + 1) throw",
    tests: body("one value more"),
    why: "a body of a million values keeps the server from everyone else",
  },
  {
    id: "bounds.json.text",
    at: { file: `${SERVER}/body.ts` },
    find: "if (byte === QUOTE) index = endOfString(bytes, index);\n    else if",
    replace: "if",
    tests: body("signs of JSON within a text"),
    why: "a person's text full of brackets is refused",
  },
  {
    id: "bounds.plan.problems",
    at: { file: "packages/dure/src/plans/plan-file.ts" },
    find: "inWords(found.slice(0, MAX_PROBLEMS))",
    replace: "inWords(found.slice(0, 2 * MAX_PROBLEMS))",
    tests: planFile("unknown keys"),
    why: "a wrong plan is answered with megabytes of problems",
  },
  {
    id: "bounds.plan.keys",
    at: { file: "packages/dure/src/engine/files/load-service-document.ts" },
    find: "const problems = errors.slice(0, MAX_PROBLEMS).map(",
    replace: "const problems = errors.slice(0, 2 * MAX_PROBLEMS).map(",
    tests: planFile("repeated keys, at their lines"),
    why: "a plan of repeated keys is answered with megabytes of problems",
  },
  {
    id: "terminal.separators",
    at: { file: "packages/dure/src/cli/harmless.ts" },
    find: "\\u200f\\u2028\\u2029\\u202a-",
    replace: "\\u200f\\u202a-",
    tests: testsIn("packages/dure/src/cli/harmless.test.ts")(
      "is written out in each character that breaks a line or turns its direction",
    ),
    why: "foreign text begins a line of its own in a terminal",
  },
  {
    id: "init.locale",
    at: { file: "packages/dure/src/cli/scaffold.ts" },
    find: 'return locale === "en" ? template : `${template}-${locale}`;',
    replace: "return template;",
    tests: testsIn("packages/dure/src/cli/init-team.test.ts")(
      "a new team has its agents, prompts and plans in its language",
    ),
    why: "a new team in Korean begins with English agents and plans",
  },
];
