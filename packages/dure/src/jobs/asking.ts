import { createHash } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import { ulid } from "../kernel/ids.ts";
import { canonicalJson } from "../kernel/json.ts";
import { sessionKey } from "../kernel/tenant.ts";
import { filesNamed } from "../durable/files/named-files.ts";
import type { AskRules } from "./allowlist.ts";
import {
  agentUnknown,
  checkAllowed,
  checkPair,
  nobodyAsked,
  readRequest,
  type AskRequest,
} from "./ask.ts";
import type { ExchangeAgent } from "./exchange.ts";
import { jobOfSession, newJobId, type Job } from "./job.ts";
import type { AgentDirectory } from "./job-exchange-store.ts";
import type { JobReader } from "./job-reader.ts";
import type { JobLimits } from "./limits.ts";
import type { NewJob } from "./new-job.ts";

interface AskingParts {
  readonly reader: JobReader;
  readonly agents: AgentDirectory;
  readonly allow: AskRules;
  readonly limits: JobLimits;
}

/** Makes jobs of what agents ask; writes nothing. */
export class JobAsking {
  readonly #parts: AskingParts;

  constructor(parts: AskingParts) {
    this.#parts = parts;
  }

  /** Throws what `Jobs.ask` throws before there is a job. */
  async jobOf(request: AskRequest): Promise<{ job: NewJob; waitSec: number }> {
    const { reader, agents, allow, limits } = this.#parts;
    const { message, origin } = request;
    const { payload, topic, intent, maxTurns, waitSec } = readRequest(request, limits);
    const asking = this.#agent(request.requester);
    const tenant =
      request.tenant ?? (origin && (await reader.session(origin.session))?.tenant) ?? "";
    const target = await this.#target(request, tenant);
    checkPair(asking, target, allow, agents.all());
    const files = request.carried ?? (await this.#filesOf(request));
    const job: NewJob = {
      id: newJobId(),
      tenant,
      requester: asking.id,
      target: target.id,
      message,
      payload,
      topic,
      intent,
      conversation: request.conversationId ?? null,
      new_conversation: `conv_${ulid()}`,
      files,
      parent: (origin && jobOfSession(origin.session)) ?? null,
      max_turns: maxTurns,
      key: request.key === undefined ? null : `ask:${asking.id}:${request.key}`,
      body_hash: hashOf([
        target.id,
        message,
        payload,
        request.topic,
        request.conversationId,
        request.maxTurns,
        ...files.map(({ id }) => id),
      ]),
      origin_session: origin?.session ?? null,
      origin_turn: origin?.turn ?? null,
      wait_ms: waitSec * 1_000,
      max_depth: limits.depth,
      max_tree: limits.tree,
    };
    return { job, waitSec };
  }

  /** Whether the team's rules have the job still. Throws `JOB_NOT_ALLOWED`. */
  checkAllowed({ requester, target }: Job): void {
    checkAllowed(this.#parts.allow, this.named(requester), this.named(target));
  }

  /** Also one that is no longer in the team. */
  named(id: string): Pick<ExchangeAgent, "id" | "displayName"> {
    return this.#parts.agents.find(id) ?? { id, displayName: id };
  }

  /** Throws `FILE_UNKNOWN`. */
  async #filesOf({ files: names = [], origin }: AskRequest): Promise<readonly FileRef[]> {
    if (names.length === 0) return [];
    const known = origin ? await this.#parts.reader.filesOf(origin.session) : [];
    return filesNamed(names, known);
  }

  #agent(id: string): ExchangeAgent {
    const { agents } = this.#parts;
    const agent = agents.find(id);
    if (agent) return agent;
    throw agentUnknown(id, agents.all());
  }

  async #target(request: AskRequest, tenant: string): Promise<ExchangeAgent> {
    if (request.agent !== undefined) return this.#agent(request.agent);
    if (request.session === undefined) throw nobodyAsked();
    const { reader, agents } = this.#parts;
    const session = await reader.session(sessionKey(tenant, request.session));
    const agent =
      session?.tenant === tenant
        ? agents.all().find(({ service }) => service === session.service)
        : undefined;
    if (agent) return agent;
    throw sessionUnknown(request.session);
  }
}

export function sessionUnknown(session: string): DureError {
  return new DureError("SESSION_UNKNOWN", `No agent of yours answers in a session ${session}.`, {
    class: "not-found",
    hint: "Check the session id, or name the agent.",
  });
}

function hashOf(body: unknown): string {
  return createHash("sha256").update(canonicalJson(body)).digest("hex");
}
