import { z } from "zod";
import {
  inFileOrder,
  problemsError,
  problemsOf,
  readYaml,
} from "../../engine/files/load-service-document.ts";
import { oneOf, settings, text, yesOrNo } from "../../engine/files/load-service-schema.ts";
import { durationMs } from "../../kernel/duration.ts";
import type { Member } from "../../kernel/plans.ts";

/**
 * What offline workers do, by port and member, try by try. The key `default` stands for every
 * port that has none.
 *
 *     ports:
 *       api:
 *         implementer:
 *           - edits: [{ path: src/api/login.ts, content: "…" }]
 *             summary: First try.
 *           - edits: [{ path: src/api/login.ts, replace: { old: "> 6", new: "> 5" } }]
 *         tester:
 *           - edits: [{ path: test/api/login.test.ts, content: "…" }]
 */
export interface OfflineScript {
  readonly ports: Readonly<Record<string, OfflinePart>>;
}

type OfflinePart = { readonly [Name in Member]?: readonly OfflineTry[] | undefined };

/** Done in the order of the keys. */
export interface OfflineTry {
  /** Which try of the port it is for. Default: its place in the list. */
  readonly try?: number | undefined;
  /** Milliseconds that it takes, told as progress in four steps. Default 0. */
  readonly delay?: number | undefined;
  /**
   * Asked of the other member or the operator before the edits; the answers are in what it says.
   */
  readonly queries?: readonly string[] | undefined;
  readonly requestAccess?:
    | readonly {
        readonly path: string;
        readonly wants: "read" | "own";
        readonly why?: string | undefined;
      }[]
    | undefined;
  readonly edits?: readonly OfflineEdit[] | undefined;
  /** Its process kills itself after the edits. */
  readonly crash?: boolean | undefined;
  /** It never ends after the edits. */
  readonly hang?: boolean | undefined;
  readonly status?: "ready" | "partial" | "failed" | undefined;
  readonly summary?: string | undefined;
  /** What it says it changed; default: the paths of its edits. */
  readonly claims?: readonly string[] | undefined;
  /** Used in this try, for budgets. */
  readonly tokens?: number | undefined;
}

/** One of `content`, `replace`, `delete`, `link`. */
export interface OfflineEdit {
  readonly path: string;
  readonly content?: string | undefined;
  /** `old` must stand in the file exactly once; where `new` stands already, nothing is done. */
  readonly replace?: { readonly old: string; readonly new: string } | undefined;
  readonly delete?: boolean | undefined;
  /** A symbolic link with this target. */
  readonly link?: string | undefined;
  /**
   * The process does it without asking, as an agent with tools of its own: only the sandbox stands
   * in its way.
   */
  readonly unasked?: boolean | undefined;
}

const edit = settings({
  path: text,
  content: z.string({ error: "must be a text" }).optional(),
  replace: settings({
    old: z
      .string({ error: "must be a text" })
      .min(1, { error: "must be a text that is not empty" }),
    new: z.string({ error: "must be a text" }),
  }).optional(),
  delete: yesOrNo.optional(),
  link: text.optional(),
  unasked: yesOrNo.optional(),
}).superRefine((value, context) => {
  const ways =
    (["content", "replace", "link"] as const).filter((key) => value[key] !== undefined).length +
    (value.delete ? 1 : 0);
  if (ways !== 1) {
    context.addIssue({ code: "custom", message: "needs one of content, replace, delete and link" });
  }
});

const count = (what: string) =>
  z.int({ error: `must be ${what}` }).min(0, { error: `must be ${what}` });
const delay = z
  .union([z.number(), z.string()], { error: 'must be a duration such as "2s", or milliseconds' })
  .transform((value, context) => {
    try {
      return durationMs(value);
    } catch {
      context.addIssue({
        code: "custom",
        message: 'must be a duration such as "2s", or milliseconds',
      });
      return z.NEVER;
    }
  });

const oneTry = settings({
  try: count("the number of a try").optional(),
  delay: delay.optional(),
  queries: z.array(text).max(20).optional(),
  requestAccess: z
    .array(settings({ path: text, wants: oneOf(["read", "own"]), why: text.optional() }))
    .max(20)
    .optional(),
  edits: z.array(edit, { error: "must be a list of edits" }).max(1_000).optional(),
  crash: yesOrNo.optional(),
  hang: yesOrNo.optional(),
  status: oneOf(["ready", "partial", "failed"]).optional(),
  summary: text.optional(),
  claims: z.array(text).max(1_000).optional(),
  tokens: count("a number of tokens").optional(),
});

const tries = z.array(oneTry, { error: "must be a list of tries" }).max(100).optional();
const script = settings({
  ports: z.record(
    z.string(),
    settings({ implementer: tries, tester: tries, orchestrator: tries }),
    { error: "must be what is done, by port" },
  ),
});

/** Characters of a script; it is read on the main thread. */
const SCRIPT_CHARACTERS = 200_000;

/**
 * Reads the text of a script (YAML or JSON). Throws `OFFLINE_SCRIPT_INVALID` with every problem at
 * its line.
 */
export function readOfflineScript(file: string, text: string): OfflineScript {
  if (text.length > SCRIPT_CHARACTERS) {
    throw problemsError("OFFLINE_SCRIPT_INVALID", `The script ${file}`, [
      { file, key: "", message: `is longer than ${SCRIPT_CHARACTERS} characters` },
    ]);
  }
  const { document, problems } = readYaml(file, text);
  if (problems.length > 0) {
    throw problemsError("OFFLINE_SCRIPT_INVALID", `The script ${file}`, problems);
  }
  const read = script.safeParse(document.value);
  if (!read.success) {
    throw problemsError(
      "OFFLINE_SCRIPT_INVALID",
      `The script ${file}`,
      inFileOrder(problemsOf(read.error, document)),
    );
  }
  return read.data;
}

/**
 * What is done in one try. Pure. Undefined: nothing is left to do.
 */
export function tryOf(
  script: OfflineScript,
  at: {
    readonly port: string;
    readonly member: Member;
    readonly try: number;
  },
): OfflineTry | undefined {
  const part = Object.hasOwn(script.ports, at.port)
    ? script.ports[at.port]
    : Object.hasOwn(script.ports, "default")
      ? script.ports["default"]
      : undefined;
  return part?.[at.member]?.find((entry, index) => (entry.try ?? index + 1) === at.try);
}
