import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.join(import.meta.dirname, "../..");

/** The values of each door; types do not count. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  dure: [
    "AgentResult",
    "DureError",
    "NotSentError",
    "StateManager",
    "calculator",
    "chatAgent",
    "clockTool",
    "combineServices",
    "conversationalAgent",
    "customAgent",
    "defineAgent",
    "defineService",
    "defineState",
    "fileResult",
    "flow",
    "keywordRouter",
    "loadService",
    "modelRouter",
    "offlineModel",
    "openapiTools",
    "remoteService",
    "teamTools",
    "tool",
    "webFetch",
  ],
  "dure/client": [
    "AgentFilesClient",
    "DureClient",
    "DureError",
    "EMPTY_TURN_VIEW",
    "ESCALATION_SEVERITIES",
    "ESCALATION_STATUSES",
    "ESCALATION_TYPES",
    "FINDING_WORDS_EN",
    "FINDING_WORDS_KO",
    "JOB_OUTCOMES",
    "JOB_STATUSES",
    "JobsClient",
    "KnowledgeClient",
    "LISTED_KINDS",
    "MAX_NOTE",
    "PLAN_RUN_STATUSES",
    "PORT_STATUSES",
    "PlansClient",
    "ROLE_REASONS",
    "RoomsClient",
    "SOURCE_KINDS",
    "STALLED_AFTER_MS",
    "STEP_KINDS",
    "SchedulesClient",
    "TRACE_STATES",
    "TURN_EVENT_TYPES",
    "TurnStream",
    "codeOf",
    "isAbort",
    "isJobOver",
    "isObject",
    "isPortOver",
    "isRunOver",
    "messageOf",
    "publishTarget",
    "reviewNeeded",
    "shownText",
    "systemClock",
    "translatorOf",
    "turnView",
    "ulid",
  ],
  "dure/korean": ["BECAUSES_KO", "ERROR_WORDS_KO", "SERVER_KOREAN", "problemInKorean"],
  "dure/react": [
    "DureHub",
    "DureProvider",
    "ROOM_EVENTS",
    "roomOf",
    "runOf",
    "useHub",
    "useRoom",
    "useRun",
    "useTurn",
  ],
  "dure/slots": [
    "MESSAGE_ERRORS",
    "REFUSING_KINDS",
    "SLOT_TYPES",
    "STAGES",
    "askedSlotOf",
    "checkProposal",
    "choiceReader",
    "classifyContinue",
    "classifyReply",
    "clockIn",
    "dateRangeReader",
    "dayOnlyReader",
    "dayReader",
    "dayReaderFor",
    "deriveAmounts",
    "findMoney",
    "findPayments",
    "findRecurrence",
    "findWhen",
    "fold",
    "formFactsIn",
    "formTexts",
    "formatAmount",
    "formatPhone",
    "isIsoDate",
    "isIsoDateRange",
    "isQuoteOf",
    "josa",
    "josaOnly",
    "lexiconWith",
    "missingSlots",
    "moneyLimitReader",
    "moneyReader",
    "moveWordsOf",
    "namesATime",
    "numberReader",
    "parseAmount",
    "parseDate",
    "parseDay",
    "parseMoney",
    "parseNumber",
    "parsePastDay",
    "parsePerson",
    "parsePhone",
    "parseTime",
    "parseWhen",
    "personReader",
    "phoneReader",
    "pickOf",
    "recurrenceReader",
    "recurrenceRule",
    "showDerived",
    "slot",
    "slotAgents",
    "slotFlow",
    "todayIn",
    "tokensOf",
    "truthReader",
    "weekdayOf",
    "whenReader",
  ],
  "dure/team": [
    "MemoryJobs",
    "bucketStore",
    "defineEval",
    "definePlan",
    "defineTeam",
    "exchangeInMemory",
    "loadTeam",
    "readEnvironment",
    "readPlan",
    "readTeam",
    "runWorker",
    "silentLogger",
    "startTeam",
  ],
  "dure/channels": [
    "ChannelError",
    "DiscordAdapter",
    "SlackAdapter",
    "WebAdapter",
    "chatPlatform",
    "discord",
    "slack",
    "web",
  ],
  "dure/compat": [
    "ServiceBuilder",
    "done",
    "resetState",
    "resultDict",
    "runAgent",
    "streamAgentTurn",
    "taskProgress",
    "updateMemory",
  ],
};

/** What `package.json` exports: the name of each door, and its source. */
async function doors(): Promise<readonly { name: string; source: string }[]> {
  const { exports } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as {
    exports: Readonly<Record<string, { "dure-source": string }>>;
  };
  return Object.entries(exports).map(([door, { "dure-source": source }]) => ({
    name: door.replace(".", "dure"),
    source: path.join(root, source),
  }));
}

async function valuesOf(source: string): Promise<readonly string[]> {
  return Object.keys((await import(/* @vite-ignore */ source)) as object).toSorted();
}

test("each door has the values that are listed here, and no others", async () => {
  const found: Record<string, readonly string[]> = {};
  for (const { name, source } of await doors()) found[name] = await valuesOf(source);

  expect(found).toEqual(VALUES);
});

test("the door of services, agents and tools has at most 25 values", async () => {
  const [dure] = await doors();

  expect((await valuesOf(dure!.source)).length).toBeLessThanOrEqual(25);
});

test("a value is behind one door; the client, which runs in browsers, stands alone", async () => {
  const homes = new Map<string, string[]>();
  for (const { name, source } of await doors()) {
    if (name === "dure/client") continue;
    for (const value of await valuesOf(source)) {
      homes.set(value, [...(homes.get(value) ?? []), name]);
    }
  }

  expect([...homes].filter(([, at]) => at.length > 1)).toEqual([]);
});

test("a door names every export in a group that has a comment", async () => {
  for (const { name, source } of await doors()) {
    const text = await readFile(source, "utf8");

    expect(text, name).not.toMatch(/export \*/);
    const groups = text.split(/\n{2,}/).filter((group) => group.includes("export "));
    const bare = groups.filter((group) => !group.trimStart().startsWith("//"));
    expect(bare, name).toEqual([]);
  }
});
