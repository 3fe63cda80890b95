import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Escalation } from "../wire/escalations.ts";
import {
  askedOfPerson,
  readTaskId,
  taskOfJob,
  taskOfRun,
  type TaskRef,
  type McpTaskState,
  type ToldTask,
} from "./task-state.ts";
import type { TeamConnection, ToolGroup } from "./team-tool.ts";

/** The Tasks extension of MCP 2026-07-28, whose server's part the SDK leaves to its users. */
const TASKS = "io.modelcontextprotocol/tasks";

/** Questions that a task tells at once. */
const MAX_QUESTIONS = 20;

export interface TasksOptions {
  readonly groups: readonly ToolGroup[];
  readonly connect: () => Promise<TeamConnection>;
  /** The result of a call, from what it gives. */
  readonly resultOf: (value: object) => CallToolResult;
}

/** Whether the client of this request takes a task where it asked for a result. Pure. */
export function takesTasks(context: ServerContext): boolean {
  return capabilitiesOf(context)?.extensions?.[TASKS] !== undefined;
}

/** The answer to a call whose work goes on as a task. Pure. */
export function asTaskResult(state: McpTaskState): CallToolResult {
  return { resultType: "task", ...state } as unknown as CallToolResult;
}

/**
 * Serves jobs and runs as tasks. A task is the job or the run itself, so any process answers for
 * it, and the token of each request decides whether it is seen.
 */
export function serveTasks({ server }: McpServer, options: TasksOptions): void {
  const known = z.looseObject({ taskId: z.string().max(200) });

  server.registerCapabilities({ extensions: { [TASKS]: {} } });
  server.setRequestHandler("tasks/get", { params: known }, ({ taskId }, context) =>
    guarded(context, () => tellTask(refOf(taskId, options), { ...options, context })),
  );
  server.setRequestHandler("tasks/cancel", { params: known }, ({ taskId }, context) =>
    guarded(context, () => cancelTask(refOf(taskId, options), { ...options, context })),
  );
  server.setRequestHandler("tasks/update", { params: known }, ({ taskId }, context) =>
    guarded(context, () => answerTask(refOf(taskId, options), { ...options, context })),
  );
}

interface TaskRequest extends TasksOptions {
  readonly context: ServerContext;
}

async function tellTask(ref: TaskRef, asked: TaskRequest): Promise<object> {
  const { state, outcome } = await readTask(ref, asked);
  if (outcome) {
    const { isError, value } = outcome;
    return { ...state, result: { ...asked.resultOf(value), isError } };
  }
  const questions = state.status === "working" ? await questionsOf(ref, asked) : [];
  if (questions.length === 0) return state;
  const inputRequests = Object.fromEntries(
    questions.map((question) => [question.id, askedOfPerson(question)]),
  );

  return { ...state, status: "input_required", inputRequests };
}

async function readTask(
  { kind, id }: TaskRef,
  { connect, context }: TaskRequest,
): Promise<ToldTask> {
  const { client } = await connect();
  const { signal } = context.mcpReq;
  if (kind === "job") return taskOfJob(await client.jobs.get(id, { signal }));

  return taskOfRun(await client.plans.run(id, { signal }));
}

/** A task that is over is acknowledged too: there is nothing left to cancel. */
async function cancelTask(ref: TaskRef, asked: TaskRequest): Promise<object> {
  const { state } = await readTask(ref, asked);
  if (state.status !== "working") return {};
  const { client } = await asked.connect();
  const { signal } = asked.context.mcpReq;
  const cancel =
    ref.kind === "job"
      ? client.jobs.cancel(ref.id, { signal })
      : client.plans.cancel(ref.id, { signal });
  await cancel.catch((error: unknown) => {
    if (!(error instanceof DureError && error.class === "conflict")) throw error; // it has ended
  });

  return {};
}

const Answer = z.object({
  action: z.literal("accept"),
  content: z.object({ decision: z.string().max(200), note: z.string().max(2_000).optional() }),
});

/** A question that was answered already, or is not of this task, is passed over. */
async function answerTask(ref: TaskRef, asked: TaskRequest): Promise<object> {
  await readTask(ref, asked);
  const { client } = await asked.connect();
  const { signal, inputResponses: responses = {} } = asked.context.mcpReq;
  for (const { id } of await questionsOf(ref, asked)) {
    const answer = Answer.safeParse(responses[id]);
    if (!answer.success) continue;
    const { decision: value, note } = answer.data.content;
    await client.answerEscalation(id, { value, note }, { signal });
  }

  return {};
}

/** What waits for a person, where the client was offered decisions and can ask one. */
async function questionsOf(
  { kind, id }: TaskRef,
  { groups, connect, context }: TaskRequest,
): Promise<readonly Escalation[]> {
  const mayAsk = groups.includes("decisions") && capabilitiesOf(context)?.elicitation;
  if (!mayAsk) return [];
  const { client } = await connect();
  const { items } = await client.escalations(
    { status: "open", [kind]: id, limit: MAX_QUESTIONS },
    { signal: context.mcpReq.signal },
  );

  return items.filter(({ step }) => step === "person");
}

function refOf(taskId: string, { groups }: TasksOptions): TaskRef {
  const ref = readTaskId(taskId);
  const group = ref?.kind === "job" ? "jobs" : "plans";
  if (ref && groups.includes(group)) return ref;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task "${taskId}".`);
}

async function guarded(
  context: ServerContext,
  answer: () => Promise<object>,
): Promise<{ [key: string]: unknown }> {
  if (!takesTasks(context)) {
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [TASKS]: {} } },
    });
  }
  try {
    return { ...(await answer()) };
  } catch (error) {
    throw asProtocolError(error);
  }
}

/** What is unknown, or another's, is a wrong parameter in the words of the extension. Pure. */
export function asProtocolError(error: unknown): Error {
  if (error instanceof ProtocolError) return error;
  if (!(error instanceof DureError)) {
    return new ProtocolError(ProtocolErrorCode.InternalError, messageOf(error));
  }
  const { code, hint, class: kind } = error;
  const isTheirs = kind === "not-found" || kind === "forbidden" || kind === "input";
  const number = isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;

  return new ProtocolError(number, `${code}: ${error.message}`, { code, hint });
}

function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope: Readonly<Record<string, unknown>> | undefined = mcpReq.envelope;
  return envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
}
