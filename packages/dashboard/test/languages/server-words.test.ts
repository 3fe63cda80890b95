// @module-tag slow
import { FINDING_WORDS_EN, FINDING_WORDS_KO } from "dure/client";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, describe, expect, test } from "vitest";
import { errorsIn, wordsOf } from "../../../../scripts/reference/errors.ts";
import { LEAVING_RULES } from "../../../dure/src/plans/plan-schema.ts";
import { WORKER_FAILURES } from "../../../dure/src/plans/workers/worker.ts";
import { BECAUSES_KO } from "../../../dure/src/korean/because-text.ko.ts";
import { ERROR_WORDS_KO } from "../../../dure/src/korean/error-words.ko.ts";
import { FORMS_KO, OTHERS_SAY, SERVER_KOREAN } from "../../../dure/src/korean/server-korean.ts";
import { TEXTS } from "../texts.ts";

const SOURCES = fileURLToPath(new URL("../../../dure/src", import.meta.url));

/** Codes that no page meets, by how they begin, and where they are met. */
const ELSEWHERE: Readonly<Record<string, RegExp>> = {
  "code of a service, and other protocols":
    /^(CONTINUE_FIRST|STAGE_NOT_ALLOWED|EXCHANGE_RESTS|SERVER_CLOSED|NOT_HAPPENED)$/,
  "a start, which ends with them":
    /^(BIND_|CONFIG_|DASHBOARD_|DATABASE_(POOLED|REFUSED|TOO|IN_|NOT)|DISCORD_|EMBEDDED_|ENVIRONMENT_|FORM_INVALID|LEXICON_INVALID|HOST_ID|MIGRATION|PORT_IN_USE|PROCESS_(ID|NAME)|RETRIEVER_|ROOMS_WITHOUT|SCHEMA_|SERVICE_MISSING|SLACK_|SLOT_INVALID|SLOTS_|TOKEN_SHARED|OFFLINE_(MODEL_EXISTS|SCRIPT)|JOB_PATTERN|JOBS_NOT|CARD_NOT|EMBEDDING_|RETENTION_|TOOL_(APPROVAL|INVALID|PROBE))/,
  "the command line":
    /^(USER_MESSAGE_TWICE|TEXT_IN_FLOW|BACKUP_|FILE_(EXISTS|UNWRITABLE)|FOLDER_|NAME_INVALID|SERVER_UNREACHABLE|SHELL_|TEAM_NOT|TOKEN_WEAK|TOOLS_UNKNOWN|USAGE|MCP_(DOCUMENT|ENVIRONMENT|LOGIN)|ROLE_INVALID)/,
  "other protocols":
    /^(A2A_|METHOD_UNKNOWN|NOT_SPOKEN|PUSH(ES)?_(TOO|ADDRESS|LATE|UNKNOWN)|RPC_|STOP_UNAVAILABLE|TASKS?_|VERSION_NOT|CALLER_TOOLS_|TOOL_(NAME_TAKEN|CALL_EXPIRED|RESULT_INVALID))/,
  "webhooks and hooks of workers": /^(HOOK_|MAX_HOOK)/,
  "requests that a browser cannot make": /^(CONTENT_TYPE_|EXPECTATION_|HTTP_INVALID)/,
  "the server's log; a client gets INTERNAL's words": /^TRANSACTION_OVER/,
};

/** Codes whose sentences need no Korean form of their own though values stand in them, and why. */
const WITHOUT_FORM: Readonly<Record<string, readonly string[]>> = {
  "no more than the id of what the page asked for": [
    ...[
      "AGENT_EDIT_UNKNOWN",
      "COMMENT_UNKNOWN",
      "DRAFT_UNKNOWN",
      "ESCALATION_UNKNOWN",
      "FILE_UNKNOWN",
    ],
    ...["JOB_OVER", "JOB_UNKNOWN", "LOGIN_UNKNOWN", "MANIFEST_MISSING"],
    ...["OUTBOX_NOT_UNKNOWN", "PLACE_UNKNOWN", "REPLAY_OF_RESULTS", "REPLAY_OTHER_VERSION"],
    ...["REPLAY_TOO_OLD"],
    ...["ROOM_MESSAGE_UNKNOWN", "RUN_CLEANED", "RUN_UNKNOWN", "SCHEDULE_UNKNOWN", "SESSION_BUSY"],
    ...["SESSION_QUEUE_FULL", "SESSION_UNKNOWN", "STEP_UNKNOWN", "THREAD_UNKNOWN"],
    ...["TRACE_UNKNOWN", "TURN_FINISHED", "TURN_NOT_RETRYABLE", "TURN_PASSED"],
    ...["TURN_RUNNING", "TURN_UNKNOWN", "TURN_UNREADABLE"],
  ],
  "positions, keys and bounds of the protocol, which the page handles": [
    ...["BODY_TOO_COMPLEX", "CONNECTIONS_FULL", "CONNECTIONS_PER_ADDRESS", "CURSOR_INVALID"],
    ...["EVENT_POSITION_INVALID", "EVENT_READER_SLOW", "FENCED", "FRAME_UNREADABLE"],
    ...["HEADERS_TOO_LARGE", "IDEMPOTENCY_KEY_REUSED", "LEASE_BUSY", "METHOD_NOT_ALLOWED"],
    ...["PROCESS_STOPPED", "READER_TOO_SLOW", "REQUEST_TOO_SLOW", "SERVER_BUSY"],
    ...["SERVER_DRAINING", "STREAMS_FULL", "TRANSACTION_TOO_LONG", "TURN_ALREADY_READ"],
  ],
  "met at a start, by the one who writes the code": [
    ...["AGENT_EMPTY", "AGENT_NAME_INVALID", "AGENT_SCHEMA_MISSING", "TOOL_NAME_INVALID"],
  ],
  "made in a table of its own, and tried below": [
    ...["AGENT_NOT_EDITABLE", "MERGES_BUSY", "PLAN_UNCONFINED", "PORT_TIMEOUT", "REF_MOVED"],
    ...["TOKEN_NEEDED", "TOKENS_EXHAUSTED", "TRIES_EXHAUSTED"],
  ],
};

let sources: readonly { readonly name: string; readonly text: string }[] = [];

beforeAll(async () => {
  const names = (await readdir(SOURCES, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !/\.test\.ts$|(^|\/)test-|^korean\//.test(name),
  );
  sources = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(SOURCES, name), "utf8") })),
  );
});

describe("on a page in Korean", () => {
  test("every refusal that a page can meet has words", () => {
    const thrown = sources
      .filter(({ text }) => /new (?:Dure|Process)Error/.test(text))
      .flatMap(({ name, text }) => errorsIn(name, text).map(({ code }) => code));
    const stored = sources.flatMap(({ text }) => [
      ...(text.match(/(?<='code', ')[A-Z][A-Z_]+(?=')/g) ?? []),
      ...(text.match(/(?<=\bcode: ")[A-Z][A-Z_]+(?=", message|",\n)/g) ?? []),
    ]);
    const codes = new Set([...thrown, ...stored, ...Object.keys(WORKER_FAILURES)]);
    const silent = [...codes].filter((code) => !hasWords(code) && !isElsewhere(code));

    expect(codes.size).toBeGreaterThan(300);
    expect(silent).toEqual([]);
  });

  test("every reason that a plan writes down has words with its facts", () => {
    const reasons = sources
      .filter(({ name }) => name.startsWith("plans/"))
      .flatMap(({ name, text }) => reasonsIn(name, text));
    const silent = reasons.filter(
      ({ code, message, hint }) =>
        !message.startsWith("…") &&
        SERVER_KOREAN.refusal({ code, message: filled(message), hint: filled(hint) }) === undefined,
    );

    expect(reasons.length).toBeGreaterThan(15);
    expect(silent).toEqual([]);
  });

  test("every refusal with facts has a Korean form, or a reason to have none", () => {
    const refusals = sources
      .filter(({ name }) => !name.startsWith("cli/"))
      .flatMap(({ name, text }) => [...errorsIn(name, text), ...reasonsIn(name, text)])
      .filter(({ code, message }) => message.includes("…") && !isElsewhere(code));
    const bare = refusals.filter(({ message }) => !SERVER_KOREAN.sentence(filled(message)));
    const excused = new Set([...OTHERS_SAY, ...Object.values(WITHOUT_FORM).flat()]);

    expect(refusals.length).toBeGreaterThan(250);
    expect(bare.filter(({ code }) => !excused.has(code))).toEqual([]);
    expect(
      [...excused].filter((code) => !bare.some((one) => one.code === code) && !isStored(code)),
    ).toEqual([]);
  });

  test.each([
    "ruda was given in code, not by a configuration file.",
    "ruda answers through a service, which has its prompts.",
    "Other machines have files of ruda of their own.",
    "The tests of 2 merges run already.",
    "The plan shop takes protection away (isolation: audit), and only a token with the scope plans:unconfined may start it.",
    "The port cart has used up its 600 s.",
    "ports/cart is at 12ab, not at none.",
    "A token or a login is needed here: the token has expired.",
    "5 of 5 tries did not pass the acceptance. These still fail: a total",
    "900 of 1000 tokens of the run are used; what is left is not enough.",
  ])("there is Korean for: %s", (message) => {
    expect(SERVER_KOREAN.sentence(message)).toMatch(/[가-힣]/);
  });

  test.each([
    "The tree of port cart is not removed: process 7 holds it.",
    "A token or a login is needed here: the connection comes from another machine.",
    "1 of 1 tries did not pass the acceptance. The acceptance command failed without naming a test.",
    "3 of 3 tries did not pass the acceptance. The last try failed: It took longer than 60 s.",
    "1 of 1 tries did not pass the acceptance. The last try failed: The worker took more memory than 4 GiB.",
    "1 of 1 tries did not pass the acceptance. The last try failed: The worker wrote more than 10 GiB to the disk.",
    "Sessions that begin with job: are dure's own; job:1 belongs to an exchange between agents.",
    "The confinement could not be made: it ended without a word.",
  ])("a reason inside a sentence is Korean too: %s", (message) => {
    expect(SERVER_KOREAN.sentence(message)).not.toMatch(/[a-z]+ [a-z]+ [a-z]+/i);
  });

  test("what others made is said in their words behind the page's own", () => {
    const invalid = { code: "CARD_INVALID", message: "ruda.yaml has a mistake: llm is missing." };

    expect(SERVER_KOREAN.leavesOut(invalid)).toBe(true);
    expect(SERVER_KOREAN.leavesOut({ code: "JOB_SELF", message: "ruda cannot ask itself." })).toBe(
      false,
    );
  });

  test("a sentence stands behind the name of a plan and a port", () => {
    const title =
      "dev-team › Cart: 5 of 5 tries did not pass the acceptance. These still fail: a total.";

    expect(SERVER_KOREAN.title(title)).toBe(
      "dev-team › Cart: 5번 시도했지만 통과하지 못한 테스트가 있어요: a total",
    );
    expect(SERVER_KOREAN.title("엄마에게 보낼까요?")).toBeUndefined();
  });

  test("a refusal says its facts and what to do, else the words of its code", () => {
    const dirty = {
      code: "TARGET_DIRTY",
      message: "main is checked out in /shop, with changes of its own: a.ts.",
      hint: "Commit or stash them (git stash -u), then try again. Nothing was changed.",
    };

    expect(SERVER_KOREAN.refusal(dirty)).toBe(
      "/shop 폴더가 main 브랜치를 쓰는 중이고, 커밋하지 않은 변경이 있어요: a.ts 커밋하거나 `git stash -u`로 치운 뒤 다시 해 주세요. 바뀐 것은 없어요.",
    );
    expect(SERVER_KOREAN.refusal({ ...dirty, message: "It is new." })).toBe(
      ERROR_WORDS_KO["TARGET_DIRTY"],
    );
    expect(SERVER_KOREAN.refusal({ code: "NEW", message: "It is new." })).toBeUndefined();
  });
});

test("what has words is a code that the server sends", () => {
  const all = sources.map(({ text }) => text).join("\n");
  const isSent = (code: string): boolean =>
    code.endsWith("_NOT_ALLOWED") || new RegExp(`\\b${code}\\b`).test(all);

  expect(Object.keys(ERROR_WORDS_KO).filter((code) => !isSent(code))).toEqual([]);
});

test("every sentence that the page translates is one of the server's", () => {
  const all = sources
    .map(({ text }) => text)
    .join("\n")
    .replaceAll(/["`'] ?\+\s*["`']|["`'],\s*["`']/g, " ")
    .replaceAll(/\s+/g, " ");
  const unsaid = FORMS_KO.filter(([form]) => !isSaid(form, all)).map(([form]) => form);

  expect(unsaid).toEqual([]);
});

function hasWords(code: string): boolean {
  return [
    ERROR_WORDS_KO,
    TEXTS.ko.common.errors,
    BECAUSES_KO,
    TEXTS.ko.plans.before.warningWords,
    TEXTS.ko.plans.clean.why,
  ].some((words) => Object.hasOwn(words, code));
}

function isElsewhere(code: string): boolean {
  return Object.values(ELSEWHERE).some((pattern) => pattern.test(code));
}

/** Whether rows hold it, or a worker's end: what it says is made where it happened. */
function isStored(code: string): boolean {
  return Object.hasOwn(WORKER_FAILURES, code) || code === "TURN_DIVERGED_UNDONE";
}

/** Objects with a code and a message: `{ code: "SETUP_FAILED", message: `…`, hint }`. */
function reasonsIn(name: string, text: string) {
  const found: { code: string; message: string; hint: string }[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const code = memberOf(node, "code");
      const message = memberOf(node, "message");
      const isReason =
        /^[A-Z_]{3,}$/.test(code) && message !== "" && memberOf(node, "facts") === "";
      if (isReason) found.push({ code, message, hint: memberOf(node, "hint") });
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true));
  return found;
}

function memberOf(node: ts.ObjectLiteralExpression, name: string): string {
  const member = node.properties.find((one) => one.name?.getText() === name);
  return member && ts.isPropertyAssignment(member) ? wordsOf(member.initializer) : "";
}

/** With a value in each place. */
function filled(words: string): string {
  return words.replaceAll("…", "x");
}

/** Some words of its longest part, where no value stands. */
function isSaid(form: string, all: string): boolean {
  const longest = form
    .split(/\{\d\}|\b(?:implementer|tester)\b/)
    .toSorted((a, b) => b.length - a.length)[0]!;
  const words = longest.trim().replace(/\.$/, "").split(/\s+/);
  if (words.length <= 4) return all.includes(words.join(" "));

  const runs = words.slice(3).map((_, index) => words.slice(index, index + 4).join(" "));
  return runs.some((run) => all.includes(run));
}

test("each kind of finding in a result has words in both languages", () => {
  for (const words of [FINDING_WORDS_EN, FINDING_WORDS_KO]) {
    expect(LEAVING_RULES.filter((rule) => words[rule] === undefined)).toEqual([]);
  }
});
