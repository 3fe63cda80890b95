import { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import type { Done } from "../kernel/turn-events.ts";
import type { RoomAgent } from "../wire/rooms.ts";
import { ask, delegate, startRun, untilOver, wait } from "./background.ts";
import { taskOfJob, taskOfRun } from "./task-state.ts";
import { teamTool, type TeamCall, type TeamTool } from "./team-tool.ts";

const id = (what: string) => z.string().min(1).max(200).describe(what);
const limit = z.int().min(1).max(200).default(20);
const text = z.string().min(1).max(32_000);
const key = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .describe("The same key again is the same work, which is not done twice.");

/** What dure offers over MCP. Each does what the HTTP API does, under the same token. */
export const TEAM_TOOLS: readonly TeamTool[] = [
  teamTool({
    name: "list_agents",
    group: "agents",
    description: "The agents of the team, what each is for, and whether it works now.",
    inputSchema: z.object({}),
    readsOnly: true,
    run: async (_, { rooms, signal }) =>
      (await rooms.agents({ signal })).map(
        ({ id: agent, displayName: name, persona, leads, paused, working }) => ({
          id: agent,
          name,
          persona,
          leads,
          paused: paused !== null,
          working,
        }),
      ),
  }),
  teamTool({
    name: "ask_agent",
    group: "agents",
    description:
      "Says something to an agent and gives its answer. It remembers what was said in the session.",
    inputSchema: z.object({
      agent: id("Its id, from list_agents."),
      message: text,
      session: id("To go on with an earlier conversation.").optional(),
      key,
    }),
    readsOnly: false,
    run: async ({ agent, ...asked }, call) => {
      const agents = await call.rooms.agents({ signal: call.signal });
      assertSpeaksForItself(agent, agents);

      return talk({ ...asked, service: agent }, call);
    },
  }),
  teamTool({
    name: "list_rooms",
    group: "rooms",
    description: "The rooms that you may read.",
    inputSchema: z.object({ limit }),
    readsOnly: true,
    run: async (page, { rooms, signal }) => rooms.list(page, { signal }),
  }),
  teamTool({
    name: "read_room",
    group: "rooms",
    description: "The newest messages of a room or thread, oldest first, and who is writing.",
    inputSchema: z.object({ room: id("Of a room or thread."), limit }),
    readsOnly: true,
    run: ({ room, ...range }, { rooms, signal }) => rooms.messages(room, range, { signal }),
  }),
  teamTool({
    name: "post_message",
    group: "posts",
    description:
      "Says something in a room or thread. Agents that it concerns answer there: read_room.",
    inputSchema: z.object({ room: id("Of a room or thread."), text, key }),
    readsOnly: false,
    run: async ({ room, key: clientId, text: said }, { rooms, signal }) => ({
      message_id: await rooms.post(room, { text: said, clientId }, { signal }),
    }),
  }),
  teamTool({
    name: "delegate",
    group: "jobs",
    description:
      "Lets one agent ask another in the background. Waits for the answer, or gives the job's id.",
    inputSchema: z.object({
      agent: id("In whose name."),
      target: id("Who is asked."),
      message: text,
      wait_sec: z.int().min(0).max(300).default(30),
      max_turns: z.int().min(1).max(50).optional(),
      key,
    }),
    readsOnly: false,
    run: delegate,
    begin: async (input, call) => {
      const { jobId } = await ask({ ...input, wait_sec: 0 }, call);
      return taskOfJob(await call.client.jobs.get(jobId, { signal: call.signal })).state;
    },
  }),
  teamTool({
    name: "list_jobs",
    group: "jobs",
    description: "Background work, newest first.",
    inputSchema: z.object({ limit }),
    readsOnly: true,
    run: (filter, { client, signal }) => client.jobs.list(filter, { signal }),
  }),
  teamTool({
    name: "get_job",
    group: "jobs",
    description:
      "A job as it stands, with what was said in it and its answer. Waits for its end where told to.",
    inputSchema: z.object({ job: id("Its id."), wait_sec: wait }),
    readsOnly: true,
    run: async ({ job, wait_sec }, call) => {
      await untilOver(call.client.jobs, { id: job, waitSec: wait_sec }, call);
      return call.client.jobs.get(job, { signal: call.signal });
    },
  }),
  teamTool({
    name: "cancel_job",
    group: "jobs",
    description: "Cancels a job and all that it asked for.",
    inputSchema: z.object({ job: id("Its id.") }),
    readsOnly: false,
    run: ({ job }, { client, signal }) => client.jobs.cancel(job, { signal }),
  }),
  teamTool({
    name: "list_plans",
    group: "plans",
    description: "The plans of the team and what is wrong with them.",
    inputSchema: z.object({}),
    readsOnly: true,
    run: (_, { client, signal }) => client.plans.list({ signal }),
  }),
  teamTool({
    name: "start_run",
    group: "plans",
    description: "Lets the pairs of a plan build it on its repository. Gives the run; see get_run.",
    inputSchema: z.object({
      plan: id("Its name."),
      only: z.array(id("A port.")).max(100).optional(),
      key,
    }),
    readsOnly: false,
    run: startRun,
    begin: async (input, call) => {
      const { id: run } = await startRun(input, call);
      return taskOfRun(await call.client.plans.run(run, { signal: call.signal })).state;
    },
  }),
  teamTool({
    name: "list_runs",
    group: "plans",
    description: "Runs of plans, newest first.",
    inputSchema: z.object({ limit }),
    readsOnly: true,
    run: (filter, { client, signal }) => client.plans.runs(filter, { signal }),
  }),
  teamTool({
    name: "get_run",
    group: "plans",
    description:
      "A run as it stands: its ports, what waits for a decision, its result. Waits for its end " +
      "where told to.",
    inputSchema: z.object({ run: id("Its id."), wait_sec: wait }),
    readsOnly: true,
    run: async ({ run, wait_sec }, call) => {
      await untilOver(call.client.plans, { id: run, waitSec: wait_sec }, call);
      return call.client.plans.run(run, { signal: call.signal });
    },
  }),
  teamTool({
    name: "cancel_run",
    group: "plans",
    description: "Stops the workers of a run. What they have made is kept.",
    inputSchema: z.object({ run: id("Its id.") }),
    readsOnly: false,
    run: ({ run }, { client, signal }) => client.plans.cancel(run, { signal }),
  }),
  teamTool({
    name: "list_services",
    group: "services",
    description: "The services of the team that people talk with.",
    inputSchema: z.object({}),
    readsOnly: true,
    run: (_, { client, signal }) => client.services({ signal }),
  }),
  teamTool({
    name: "chat",
    group: "services",
    description:
      "Says something to a service, as the person whose token this is, and gives its answer. A yes " +
      "to its question counts as that person's yes.",
    inputSchema: z.object({
      service: id("Its name, from list_services."),
      message: text,
      session: id("To go on with an earlier conversation.").optional(),
      key,
    }),
    readsOnly: false,
    run: talk,
  }),
  teamTool({
    name: "list_sessions",
    group: "services",
    description: "Sessions of the person whose token this is, the last used first.",
    inputSchema: z.object({ limit, search: z.string().max(200).optional() }),
    readsOnly: true,
    run: (page, { client, signal }) => client.sessions(page, { signal }),
  }),
  teamTool({
    name: "read_session",
    group: "services",
    description: "What was said in a session, and what it waits for.",
    inputSchema: z.object({ session: id("Its id, from list_sessions.") }),
    readsOnly: true,
    run: ({ session }, { client, signal }) => client.session(session, { signal }),
  }),
  teamTool({
    name: "list_decisions",
    group: "decisions",
    description: "What waits for a person's decision, with the answers that there are.",
    inputSchema: z.object({ limit }),
    readsOnly: true,
    run: (page, { client, signal }) => client.escalations({ ...page, status: "open" }, { signal }),
  }),
  teamTool({
    name: "decide",
    group: "decisions",
    description:
      "Answers what waits for a decision, in the name of the person whose token this is.",
    inputSchema: z.object({
      decision: id("Its id, from list_decisions."),
      value: id("The value of one of its suggested actions."),
      note: z.string().max(2_000).optional(),
    }),
    readsOnly: false,
    run: ({ decision, ...answer }, { client, signal }) =>
      client.answerEscalation(decision, answer, { signal }),
  }),
];

/**
 * An agent that answers through a service may have asked a person for a yes: what is said to it
 * could be that. It is spoken to by `chat`, which is offered only where it was asked for.
 */
function assertSpeaksForItself(agent: string, agents: readonly RoomAgent[]): void {
  const found = agents.find(({ id: known }) => known === agent);
  if (!found) {
    throw new DureError("AGENT_UNKNOWN", `There is no agent "${agent}".`, {
      class: "not-found",
      hint: `Agents are ${agents.map(({ id: known }) => known).join(", ") || "none"}.`,
    });
  }
  if (found.service === agent) return;
  throw new DureError(
    "AGENT_OF_SERVICE",
    `${agent} answers through the service ${found.service}.`,
    {
      class: "forbidden",
      hint: "What is said to a service may be a yes. Start dure mcp with --tools services, and use chat.",
    },
  );
}

interface ChatInput {
  readonly service: string;
  readonly message: string;
  readonly session?: string | undefined;
  readonly key?: string | undefined;
}

/** One turn to its end. A call that is given up leaves the turn alone: it is answered once anyway. */
async function talk(said: ChatInput, { client, signal, tell }: TeamCall): Promise<object> {
  const { service, message, session: sessionId, key: idempotencyKey } = said;
  const turn = client.sendMessage({ sessionId, service, message }, { signal, idempotencyKey });
  if (tell) {
    for await (const { type, data } of turn) if (type === "AGENT_START") tell(data.label);
  }

  const done = await turn.done;
  return { session: await turn.sessionId, ...shownDone(done) };
}

/** What matters of a turn's end; what is undefined is left out of the JSON. Pure. */
function shownDone({ message, nextAction, error, uiHint }: Done): object {
  return { message, next_action: nextAction, buttons: uiHint?.buttons, error };
}
