import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { closest } from "../../kernel/closest.ts";
import { closingOf, maskSource, positionAt } from "./load-service-scan.ts";
import { inFileOrder, shower, type Problem } from "./load-service-document.ts";
import { readService } from "./load-service.ts";

/** What `dure check` finds out about a service without calling a model. */
export interface ServiceCheck {
  /** Absent when the definition cannot be read. */
  readonly name: string | undefined;
  /** The definition: service.yaml or service.ts. */
  readonly file: string;
  /** In the order of files and lines; empty means that nothing was found. */
  readonly problems: readonly Problem[];
  /** Sources that were read for handlers. */
  readonly sources: readonly string[];
}

/**
 * Reads a service and reports every problem that can be found without calling a model: the
 * definition with its cards, prompts and exports, and what in its handlers would differ when they
 * are replayed after a crash. Throws `SERVICE_MISSING`.
 */
export async function checkService(folder: string): Promise<ServiceCheck> {
  const root = path.resolve(folder);
  const { service, problems, file } = await readService(root);
  const sources = await readSources(root);
  const findings = scanHandlers(sources, service && Object.keys(service.agents));
  return {
    name: service?.name,
    file,
    problems: [
      ...new Map(
        inFileOrder([...problems, ...findings]).map((problem) => [
          JSON.stringify(problem),
          problem,
        ]),
      ).values(),
    ],
    sources: sources.map((source) => source.file),
  };
}

export interface Source {
  readonly file: string;
  readonly text: string;
}

/**
 * What gives another answer when a handler runs again, and what a handler calls instead. Source:
 * docs/spec/conversation §3.
 */
const NOT_REPEATABLE: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bDate\s*\.\s*now\s*\(/g, instead: "Call turn.now()" },
  { pattern: /\bnew\s+Date\s*(?:\(\s*\)|(?=[;,)\s]))/g, instead: "Write new Date(turn.now())" },
  { pattern: /(?<![\w$]|\.\s*|new\s+)Date\s*\(\s*\)/g, instead: "Write new Date(turn.now())" },
  { pattern: /\bTemporal\s*\.\s*Now\b/g, instead: "Call turn.now()" },
  { pattern: /\bperformance\s*\.\s*now\s*\(/g, instead: "Call turn.now()" },
  { pattern: /\bprocess\s*\.\s*hrtime\b/g, instead: "Call turn.now()" },
  { pattern: /\bMath\s*\.\s*random\s*\(/g, instead: "Call turn.random()" },
  { pattern: /\b(?:crypto\s*\.\s*)?randomUUID\s*\(/g, instead: "Call turn.id(kind)" },
  {
    pattern: /\b(?:crypto\s*\.\s*)?(?:getRandomValues|randomBytes|randomInt)\s*\(/g,
    instead: "Call turn.random() or turn.id(kind)",
  },
  {
    pattern: /(?<![\w$]|\.\s*)(?:globalThis\s*\.\s*)?fetch\s*\(/g,
    instead: "Put it into a tool, or into turn.step(name, fn), whose result is recorded",
  },
  {
    pattern: /(?<![\w$]|\.\s*)(?:globalThis\s*\.\s*)?set(?:Timeout|Interval|Immediate)\s*\(/g,
    instead: "Wait inside turn.step(name, fn); a handler that is replayed would wait again",
  },
  {
    pattern: /\bprocess\s*\.\s*env\b/g,
    instead: "Read it once when the service is made and hand it in",
  },
];

/**
 * Finds in flow handlers, and in functions of the same folder that they call, what is not
 * repeatable, agents that are unknown, and words that stand in the wrong place. Code inside `….step(name, fn)` is recorded and may do what it likes; tools run
 * outside the replay.
 */
export function scanHandlers(sources: readonly Source[], agents?: readonly string[]): Problem[] {
  const files = sources.map((source) => ({ ...source, masked: maskSource(source.text) }));
  const functions = files.flatMap((file) => functionsOf(file));
  const queue = files.flatMap((file) =>
    handlersOf(file).map((region): Visit => ({ region, from: region.name })),
  );
  const seen = new Set<string>();
  const problems = new Map<string, Problem>();
  while (queue.length > 0) {
    const { region, from } = queue.shift()!;
    const place = `${region.file.file}:${region.start}`;
    if (seen.has(place)) continue;
    seen.add(place);
    const code = withoutRecorded(region);
    for (const problem of [
      ...notRepeatable(region, code, from),
      ...unknownAgents(region, code, agents),
      ...repeatedMessages(region, code),
      ...textsInFlow(region, code),
    ]) {
      problems.set(`${problem.file}:${problem.line}:${problem.column}`, problem);
    }
    for (const called of functions) {
      if (new RegExp(`(?<![\\w$.])${escaped(called.name)}\\s*\\(`, "u").test(code)) {
        queue.push({ region: called, from });
      }
    }
  }
  const requests = files.flatMap((file) =>
    repeatedInRequests({ name: "buildMessages", file, start: 0, end: file.text.length }),
  );
  return [...problems.values(), ...requests];
}

interface MaskedFile extends Source {
  readonly masked: string;
}

/** Code from `start` to `end` of a file. */
export interface Region {
  readonly name: string;
  readonly file: MaskedFile;
  readonly start: number;
  readonly end: number;
}

interface Visit {
  readonly region: Region;
  /** The handler from which this code is reached. */
  readonly from: string;
}

/** Handlers are async generators, and what is given to `flow(…)`. */
function handlersOf(file: MaskedFile): Region[] {
  const { masked } = file;
  const regions: Region[] = [];
  for (const match of masked.matchAll(/(?<![\w$.])flow\s*(?:<[^>()]*>)?\s*\(/g)) {
    const open = match.index + match[0].length - 1;
    regions.push({
      name: nameBefore(masked, match.index),
      file,
      start: open,
      end: closingOf(masked, open),
    });
  }
  for (const match of masked.matchAll(
    /\basync\s*(?:function\s*)?\*\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)?\s*(?:<[^()]*>)?\s*\(/gu,
  )) {
    const region = bodyBehind(
      file,
      match.index + match[0].length - 1,
      match[1] ?? nameBefore(masked, match.index),
    );
    if (region) regions.push(region);
  }
  return regions;
}

/** Functions that have a name and are no handlers. */
function functionsOf(file: MaskedFile): Region[] {
  const { masked } = file;
  const declared = [
    ...masked.matchAll(/\bfunction\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?:<[^()]*>)?\s*\(/gu),
  ];
  const assigned = [
    ...masked.matchAll(
      /\b(?:const|let|var)\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?::[^=;]+)?=\s*(?:async\s*)?(?:function\s*)?(?:<[^()]*>\s*)?\(/gu,
    ),
  ];
  return [...declared, ...assigned].flatMap(
    (match) => bodyBehind(file, match.index + match[0].length - 1, match[1]!) ?? [],
  );
}

/**
 * The body of a function whose parameters open at `open`: a block, or the expression of an arrow.
 */
function bodyBehind(file: MaskedFile, open: number, name: string): Region | undefined {
  const { masked } = file;
  const behind = closingOf(masked, open);
  const rest = masked.slice(behind);
  const block = /^\s*(?::[^{;=]*(?:\{[^{}]*\}[^{;=]*)*)?(?:=>\s*)?\{/.exec(rest);
  if (block) {
    const start = behind + block[0].length - 1;
    return { name, file, start, end: closingOf(masked, start) };
  }
  const arrow = /^\s*(?::[^;]*?)?=>/.exec(rest);
  if (!arrow) return undefined;
  const start = behind + arrow[0].length;
  let end = start;
  while (end < masked.length && !";)]}".includes(masked[end]!)) {
    end = "([{".includes(masked[end]!) ? closingOf(masked, end) : end + 1;
  }
  return { name, file, start, end };
}

/**
 * The region's code with what is recorded blanked out: `….step(name, fn)`, and definitions of
 * tools.
 */
function withoutRecorded({ file, start, end }: Region): string {
  let code = file.masked.slice(start, end);
  for (const match of code.matchAll(/\.\s*step\s*(?:<[^()]*>)?\s*\(|(?<![\w$.])tool\s*\(/g)) {
    const open = match.index + match[0].length - 1;
    const close = closingOf(code, open);
    code = code.slice(0, open) + code.slice(open, close).replace(/[^\n]/g, " ") + code.slice(close);
  }
  return code;
}

function notRepeatable(region: Region, code: string, from: string): Problem[] {
  return NOT_REPEATABLE.flatMap(({ pattern, instead }) =>
    [...code.matchAll(pattern)].map((match): Problem => {
      const through = from === region.name ? "" : `, called by the handler ${from}`;
      return {
        file: region.file.file,
        ...positionAt(region.file.text, region.start + match.index),
        key: region.name,
        message: `${match[0].replace(/\s+/g, " ").replace(/\($/, "()").trim()} gives another answer when the turn is replayed after a crash${through}`,
        hint: instead,
      };
    }),
  );
}

/** `turn.agent("helpr")` and the like. */
function unknownAgents(
  region: Region,
  code: string,
  agents: readonly string[] | undefined,
): Problem[] {
  if (agents === undefined) return [];
  const problems: Problem[] = [];
  for (const match of code.matchAll(
    /\.\s*(?:agent|streamAgent)\s*(?:<[^()]*>)?\s*\(|(?<![\w$])(?:runAgent|streamAgentTurn)\s*\(\s*[\w$.]+\s*,/g,
  )) {
    const at = region.start + match.index + match[0].length;
    const named = /^\s*(["'])([^"'\n]*)\1/.exec(region.file.text.slice(at, at + 200));
    if (!named || agents.includes(named[2]!)) continue;
    const meant = closest(named[2]!, agents);
    problems.push({
      file: region.file.file,
      ...positionAt(region.file.text, at),
      key: region.name,
      message: "names an agent that the service does not have",
      found: JSON.stringify(named[2]),
      allowed: agents.join(", ") || "none",
      hint: meant === undefined ? undefined : `did you mean "${meant}"?`,
    });
  }
  return problems;
}

/** `DEFAULT` in `DEFAULT: flow(…)`, `answer` in `const answer = flow(…)`. */
function nameBefore(masked: string, at: number): string {
  return (
    /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?::[^=,;{}]*)?[:=]\s*$/u.exec(
      masked.slice(Math.max(0, at - 200), at),
    )?.[1] ?? "flow"
  );
}

function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}

async function readSources(root: string): Promise<Source[]> {
  const show = shower(root);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter(
      (entry) =>
        entry.isFile() &&
        /\.m?[jt]s$/.test(entry.name) &&
        !/\.(test|spec|d)\.m?[jt]s$/.test(entry.name),
    )
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !path.relative(root, file).split(path.sep).includes("node_modules"))
    .sort();
  return Promise.all(
    files.map(async (file) => ({ file: show(file), text: await readFile(file, "utf8") })),
  );
}

// --- handler words

/**
 * What `dure check` finds in the words of flows: the person's own message, added once more by hand,
 * and texts for people that are written into a flow.
 */

// --- the person's message, twice

/** The name of a turn, or of an agent's context, and what stands behind it where it adds the message. */
const ADDERS: readonly RegExp[] = [
  // memory.addUserMessage(…), memory.add_user(…), rawHistory.push(…)
  /\.\s*(?:add|append|push)_?[uU]ser(?:_?(?:[mM]essage|[tT]urn))?\s*\(/gu,
  /\brawHistory\s*\.\s*(?:push|unshift)\s*\(/gu,
  // turn.remember(turn.message), updateMemory(turn, turn.message): kept as the answer
  /(?<![\w$.])([\w$]+)\s*\.\s*remember\s*\(\s*\1\s*\.\s*message\s*\)/gu,
  /(?<![\w$.])updateMemory\s*\(\s*([\w$]+)\s*,\s*\1\s*\.\s*message\s*\)/gu,
];

/** Finds where a flow adds the person's message that the engine adds itself. Pure. */
function repeatedMessages(region: Region, code: string): Problem[] {
  const added = ADDERS.flatMap((pattern) => [...code.matchAll(pattern)]);
  return [...added, ...messagesAsContext(code)].map((match) => repeated(region, match, match[0]));
}

/** `turn.agent(…, { context: turn.message })`: the model reads it above its question too. */
function messagesAsContext(code: string): RegExpMatchArray[] {
  const turns = new Set([...code.matchAll(RUNS_AGENT)].map((match) => match[1] ?? match[2]));
  return [...code.matchAll(/\bcontext\s*:\s*([\w$]+)\s*\.\s*message\s*(?=[,})\s])/gu)].filter(
    (match) => turns.has(match[1]),
  );
}

const RUNS_AGENT =
  /(?<![\w$.])(?:([\w$]+)\s*\.\s*(?:agent|streamAgent)\s*[(<]|(?:runAgent|streamAgentTurn)\s*\(\s*([\w$]+))/gu;

/**
 * Finds a message of the role `user` with the person's words beside those that `buildMessages` gives,
 * which end with them. Looks at a whole file: agents that are code are no handlers. Pure.
 */
function repeatedInRequests(file: Region): Problem[] {
  const { masked, text } = file.file;
  if (!/\.\s*buildMessages\s*\(/u.test(masked)) return [];

  return [...masked.matchAll(/\brole\s*:/gu)].flatMap((match) => {
    const at = match.index + match[0].length;
    const isUser = /^\s*(["'`])user\1/u.test(text.slice(at, at + 20));
    const member = masked.slice(at, at + 100);
    const isMessage = /^\s*,\s*(?:text|content)\s*:\s*[\w$]+\s*\.\s*message\s*,?\s*\}/u.test(
      member,
    );

    return isUser && isMessage ? [repeated(file, match, 'role: "user"')] : [];
  });
}

function repeated(
  { file, start, name }: Region,
  match: RegExpMatchArray,
  written: string,
): Problem {
  const what = written.replaceAll(/\s+/gu, " ").replace(/^\. ?/u, "").replace(/\($/u, "()").trim();

  return {
    code: "USER_MESSAGE_TWICE",
    file: file.file,
    ...positionAt(file.text, start + match.index!),
    key: name,
    message: `${what} adds the person's message, which the engine adds: it is read twice`,
    hint: "Remove it: the engine adds the message to memory and to what buildMessages() gives",
  };
}

// --- texts for people

/** Files that hold the texts of a service. */
const TEXT_FILE = /(?:^|[/.-])(?:messages?|texts?|words|strings|i18n|locales?)(?:[/.-]|$)/iu;

/** Longest expression of a message that is looked into, characters. */
const LONGEST_MESSAGE = 2_000;

/** Finds texts that a flow says in one language, whatever the session's: they may be meant. Pure. */
function textsInFlow({ file, start, name }: Region, code: string): Problem[] {
  if (TEXT_FILE.test(file.file)) return [];

  return [...code.matchAll(/(?<![\w$.])message\s*:/gu)].flatMap((match): readonly Problem[] => {
    const from = match.index + match[0].length;
    const end = Math.min(endOfValue(code, from), from + LONGEST_MESSAGE);
    const written = file.text.slice(start + from, start + end);
    const found = literalsIn(written, code.slice(from, end)).find(isForPeople);
    if (found === undefined) return [];

    return [
      {
        code: "TEXT_IN_FLOW",
        level: "warning",
        file: file.file,
        ...positionAt(file.text, start + match.index),
        key: name,
        message: "says a text in one language, whatever the session's is",
        found: JSON.stringify(found.slice(0, 80)),
        hint: "Keep texts by language in a file of their own, such as messages.ts, and choose by turn.locale",
      },
    ];
  });
}

/** Behind the value of a member that begins at `from`. */
function endOfValue(code: string, from: number): number {
  let end = from;
  while (end < code.length && !",;)]}".includes(code[end]!)) {
    end = "([{".includes(code[end]!) ? closingOf(code, end) : end + 1;
  }
  return end;
}

/** The texts of an expression: they are blank in `masked`, and quotes begin and end them. */
function literalsIn(written: string, masked: string): readonly string[] {
  const blanked = [...written.matchAll(/(["'`])((?:\\.|(?!\1)[^\\])*)\1/gsu)];
  return blanked.filter(({ index }) => masked[index] === " ").map(([, , text]) => text!);
}

/** Hangul, two words, or a sentence; not the name of something. */
function isForPeople(text: string): boolean {
  const said = text.replaceAll(/\$\{[^}]*\}/gu, "0");
  return /\p{Script=Hangul}|\p{L}[^\p{L}\n]{0,3} \p{L}|\p{L}[.!?…]$/u.test(said);
}
