import { newId, ulid } from "../../src/kernel/ids.ts";
import type { ContractTeam } from "../contract/contract-team.ts";

/**
 * One thing of each kind that an owner has; or, without an owner, names of the same shape that nothing
 * has.
 */
export interface Things {
  /** In all that this owner says; it must stand in no answer to another one. */
  readonly secret: string;
  readonly session: string;
  readonly turn: string;
  readonly escalation: string;
  /** An escalation that was dismissed. */
  readonly decided: string;
  readonly room: string;
  readonly thread: string;
  readonly message: string;
  /** A message of an agent, which no person changes. */
  readonly said: string;
  readonly job: string;
  readonly run: string;
  /** A run of this owner in a repository that is not its own. */
  readonly strayRun: string;
  readonly step: string;
  readonly schedule: string;
  /** Of A2A. */
  readonly task: string;
  /** A plan that is made ready. */
  readonly draft: string;
  readonly file: string;
}

/**
 * Makes one of each for a tenant (`""`: for no tenant), through the API where it makes them, else
 * as rows.
 */
export async function makeThings(
  team: ContractTeam,
  { tenant, token, run }: { tenant: string; token: string; run: string },
): Promise<Things> {
  const { database } = team;
  const owner = tenant || "none";
  const secret = `secret-of-${owner}`;
  const session = `only-${owner}`;
  const post = async (
    path: string,
    body: unknown,
  ): Promise<{ body: Record<string, unknown>; turn: string | null }> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const answer = await fetch(team.url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return {
      body: (await answer.json()) as Record<string, unknown>,
      turn: answer.headers.get("turn-id"),
    };
  };

  // What is asked for needs a yes: an escalation.
  const { turn } = await post("/v1/agent/chat", {
    session_id: session,
    message: `주문해 줘 ${secret}`,
    service: "desk",
  });
  await post("/v1/agent/chat", {
    session_id: "ceo",
    message: `안녕하세요 ${secret}`,
    service: "desk",
  });
  await post("/v1/agent/chat", {
    session_id: `${session}-too`,
    message: `주문해 줘 ${secret}`,
    service: "desk",
  });
  const [escalation, decided] = await database.query<{ id: string }>(
    {
      text: "select id from dure.escalations where tenant = $1 and type = 'decision' order by created_at",
    },
    [tenant],
  );
  await post(`/v1/escalations/${decided!.id}/dismiss`, {});

  const room = tenant === "" ? "web:general" : `web:general@${tenant}`;
  const said = await post("/v1/rooms/web:general/messages", { text: `@루다 ${secret}` });
  const message = said.body["message_id"] as string;
  const thread = newId("thread");
  await database.query(
    {
      text: `
        insert into dure.places (id, adapter, kind, parent, name, tenant, channel)
        values ($1, 'web', 'thread', $2, $3, $4, $2)`,
    },
    [thread, room, `thread ${secret}`, tenant],
  );
  await database.query(
    {
      text: `
        insert into dure.observations (place, slot, seq, message, sender, excerpt, agents)
        values ($1, 0, 1, $2, 'mina', $3, '{eden}')`,
    },
    [room, message, secret],
  );

  const words = newId("message");
  await database.query(
    {
      text: `
        insert into dure.room_messages (id, place, seq, author_kind, author, author_name, text)
        values ($1, $2, 0, 'agent', 'eden', 'eden', $3)`,
    },
    [words, room, secret],
  );

  const { body: asked } = await post("/v1/jobs", {
    agent: "ruda",
    target: "eden",
    message: secret,
    max_turns: 1,
  });
  const { id, step } = await copyRun(team, { run, tenant, secret });
  const stray = await copyRun(team, { run, tenant, secret, repository: team.stray });
  const draft = await makeDraft(team, { tenant, secret });
  const { body: sent } = await post("/a2a/v1/desk/message:send?A2A-Version=1.0", {
    message: {
      messageId: `m-${owner}`,
      contextId: `a2a-of-${owner}`,
      role: "ROLE_USER",
      parts: [{ text: `안녕하세요 ${secret}` }],
    },
  });

  const form = new FormData();
  form.set("session_id", session);
  form.set("file", new File([secret], "note.txt"));
  const uploaded = await fetch(`${team.url}/v1/agent/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
  const { files } = (await uploaded.json()) as { files: readonly { id: string }[] };

  return {
    secret,
    file: files[0]!.id,
    session,
    turn: turn!,
    escalation: escalation!.id,
    decided: decided!.id,
    room,
    thread,
    message,
    said: words,
    job: asked["job_id"] as string,
    run: id,
    strayRun: stray.id,
    step,
    schedule: `of-${owner}`,
    task: (sent["task"] as { id: string }).id,
    draft,
  };
}

/** Names that nothing has. */
export function noThings(): Things {
  return {
    secret: "secret-of-zeta",
    file: newId("file"),
    session: "only-zeta",
    turn: newId("turn"),
    escalation: newId("escalation"),
    decided: newId("escalation"),
    room: "web:general@zeta",
    thread: newId("thread"),
    message: newId("message"),
    said: newId("message"),
    job: `job_${ulid()}`,
    run: `run_${ulid()}`,
    strayRun: `run_${ulid()}`,
    step: "999999999",
    schedule: "of-zeta",
    task: newId("turn"),
    draft: `draft_${ulid()}`,
  };
}

/** In the repository that the plan of the team names. */
async function makeDraft(
  { database, repository }: ContractTeam,
  { tenant, secret }: { tenant: string; secret: string },
): Promise<string> {
  const id = `draft_${ulid()}`;
  await database.query(
    {
      text: `insert into dure.plan_drafts (id, tenant, goal, repository, text, questions, open, by_whom)
        values ($1, $2, $3, $4, $3, '[]', '[]', $3)`,
    },
    [id, tenant, secret, repository],
  );

  return id;
}

interface CopiedRun {
  readonly run: string;
  readonly tenant: string;
  readonly secret: string;
  /** Default: that of the run. */
  readonly repository?: string;
}

/** The run as this owner's; its files are gone, so that orders to it are refused at once. */
async function copyRun(
  { database }: ContractTeam,
  { run, tenant, secret, repository }: CopiedRun,
): Promise<{ id: string; step: string }> {
  const id = `run_${ulid()}`;
  await database.query(
    {
      text: `insert into dure.plan_runs (id, tenant, plan, definition, repository, folder, host, base_commit, start_commit, status, phase, report, started_by, finished_at, clean_began_at, cleaned_at)
        select $2, $3, $4, definition, coalesce($5, repository), folder, host, base_commit, start_commit, status, phase, report, started_by, clock_timestamp(), clock_timestamp(), clock_timestamp() from dure.plan_runs where id = $1`,
    },
    [run, id, tenant, `plan-${secret}`, repository ?? null],
  );
  await database.query(
    {
      text: `insert into dure.plan_ports (run, position, id, status, tries_pair, tries_orchestrator, time_ms, start_commit, result_commit)
        select $2, position, id, status, tries_pair, tries_orchestrator, time_ms, start_commit, result_commit from dure.plan_ports where run = $1`,
    },
    [run, id],
  );
  const [step] = await database.query<{ id: number }>(
    {
      text: `insert into dure.plan_steps (run, port, try, kind, member, worker, status, task, manifest)
        select $2, port, try, kind, member, worker, status, $3, coalesce(manifest, '{"blocks": [], "total": 0, "fullContext": 0, "saved": 0}') from dure.plan_steps where run = $1 and port = 'greet' and kind = 'implement' returning id`,
    },
    [run, id, secret],
  );
  return { id, step: String(step!.id) };
}
