// @module-tag slow
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { EVENTS, type EventType, type PlatformEvent } from "../../src/wire/events.ts";
import {
  ContractProxy,
  operationsOf,
  type CheckedAnswer,
  type OpenApiDocument,
} from "./contract-proxy.ts";
import { startContractTeam, WORDS, type ContractTeam } from "./contract-team.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * The running server against its own /openapi.json, by Prism between both. Source:
 * docs/spec/platform §3. A good call must keep the contract in both directions; a refused one is
 * wrong on purpose, so only its answer is judged.
 */
let team: ContractTeam;
let document: OpenApiDocument;
let proxy: ContractProxy;

beforeAll(async () => {
  team = await startContractTeam();
  document = (await (await fetch(`${team.url}/openapi.json`)).json()) as OpenApiDocument;
  proxy = await ContractProxy.start({ document, upstream: team.url });
}, 120_000);

afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await team?.[Symbol.asyncDispose]();
}, 60_000);

interface Call {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default the admin's; null for none. */
  readonly token?: string | null;
}

async function call(
  what: string,
  { token = team.admin, headers = {}, ...rest }: Call = {},
): Promise<CheckedAnswer> {
  const [method = "", address = ""] = what.split(" ");
  return proxy.call(method, address, {
    ...rest,
    headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers },
  });
}

/** A call that must succeed, and keep the contract in both directions. */
async function expectGood(what: string, status: number, request?: Call): Promise<CheckedAnswer> {
  const answer = await call(what, request);
  expect({
    what,
    status: answer.status,
    violations: answer.violations,
    body: answer.status === status ? undefined : answer.body,
  }).toEqual({ what, status, violations: [], body: undefined });
  return answer;
}

/** A call that must be refused, with a problem as documented. */
async function expectRefused(what: string, status: number, request?: Call): Promise<void> {
  const answer = await call(what, request);
  const violations = answer.violations.filter(({ location }) => location[0] !== "request");
  expect({
    what,
    status: answer.status,
    violations,
    type: answer.headers.get("content-type"),
  }).toEqual({
    what,
    status,
    violations: [],
    type: expect.stringContaining("application/problem+json"),
  });
  expect(answer.body).toMatchObject({
    status,
    code: expect.any(String),
    title: expect.any(String),
  });
}

/**
 * Prism parses the body that the answer to a HEAD announces and does not have: these go past it.
 */
const HEADS = ["HEAD /healthz", "HEAD /readyz"];

const chat = (session: string, message: string, more: object = {}): Call => ({
  body: { session_id: session, message, ...more },
});
const query = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

describe("good calls", () => {
  test("a transfer is asked for, confirmed and looked at", async () => {
    const asked = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("mina", "홍길동에게 5만원 보내줘", {
        service: "transfer",
        locale: "ko",
        time_zone: "Asia/Seoul",
      }),
    );
    const { ui_hint } = (asked.body as { interaction: { ui_hint: { confirm_id: string } } })
      .interaction;
    const done = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("mina", "확인", { confirm_id: ui_hint.confirm_id }),
    );
    const edited = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("mina", "김철수에게 2만원 보내줘"),
    );
    await expectGood("POST /v1/agent/chat", 200, chat("mina", "", { slots: { amount: 30_000 } }));

    expect(asked.headers.get("turn-id")).toMatch(/^turn_/);
    expect(done.body).toMatchObject({
      interaction: { next_action: "DONE", receipt: { amount: 50_000 } },
    });
    expect(edited.body).toMatchObject({ interaction: { next_action: "CONFIRM" } });
    await expectGood("GET /v1/agent/completed?session_id=mina", 200);
    await expectGood("GET /v1/agent/debug/mina", 200);
    await expectGood("GET /v1/agent/sessions?limit=10&search=%ED%99%8D", 200);
    await expectGood("GET /v1/agent/sessions/mina", 200);
    await expectGood("GET /v1/services", 200);
  });

  test("turns are streamed, read again, and stopped", async () => {
    const posted = await expectGood(
      "POST /v1/agent/chat/stream",
      200,
      chat("jisu", "안녕하세요", { service: "desk" }),
    );
    await expectGood(
      `GET /v1/agent/chat/stream?${query({ session_id: "jisu", message: "또 왔어요" })}`,
      200,
    );
    const turn = posted.headers.get("turn-id")!;
    const again = await expectGood(`GET /v1/agent/turns/${turn}/stream`, 200);
    const last = [...String(again.body).matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
    await expectGood(`GET /v1/agent/turns/${turn}/stream`, 204, {
      headers: { "last-event-id": last },
    });
    await expectGood(
      `GET /v1/agent/chat/stream?${query({ session_id: "jisu", message: "-" })}`,
      204,
      { headers: { "last-event-id": last } },
    );

    await expectGood(`GET /v1/agent/turns/${turn}/replay`, 200);
    await expectGood(`POST /v1/agent/turns/${turn}/replay`, 200, { body: {} });

    // Past the proxy, which would wait for its end.
    const hanging = await fetch(`${team.url}/v1/agent/chat/stream`, {
      method: "POST",
      headers: { authorization: `Bearer ${team.admin}`, "content-type": "application/json" },
      body: JSON.stringify({ session_id: "jisu", message: WORDS.hang }),
    });
    await team.hanging;
    await expectGood("GET /v1/agent/sessions/jisu", 200);
    await expectGood(`POST /v1/agent/turns/${hanging.headers.get("turn-id")}/stop`, 202);
    expect(await hanging.text()).toContain("TURN_STOPPED");
    await expectRefused(`POST /v1/agent/turns/${hanging.headers.get("turn-id")}/stop`, 409);
    await expectRefused(`POST /v1/agent/turns/${hanging.headers.get("turn-id")}/retry`, 409);
    await expectGood("GET /v1/agent/sessions/jisu", 200);
    await expectGood("POST /v1/agent/sessions/jisu/leave", 200, { body: { question: turn } });
    await expectRefused("POST /v1/agent/sessions/jisu/leave", 400, { body: {} });
    await expectGood("DELETE /v1/agent/sessions/jisu", 204);
  });

  test("a file is uploaded, carried by a message and read", async () => {
    const form = new FormData();
    form.set("session_id", "files");
    form.set("file", new File(["hello"], "hello.txt"));
    const uploaded = await expectGood("POST /v1/agent/files", 201, { body: form });
    const [{ id }] = (uploaded.body as { files: [{ id: string }] }).files;
    await expectGood("POST /v1/agent/chat", 200, {
      ...chat("files", "", { service: "desk", files: [id] }),
    });

    expect((await expectGood(`GET /v1/agent/files/${id}`, 200)).body).toBe("hello");
  });

  test("a question to a person is listed and answered once", async () => {
    const pending = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("boss", WORDS.buy, { service: "desk" }),
    );
    const listed = await expectGood(
      "GET /v1/escalations?status=open&severity=medium&type=decision&session=boss&limit=5",
      200,
    );
    const [{ id }] = (listed.body as { items: [{ id: string }] }).items;
    await expectRefused(`POST /v1/escalations/${id}/answer`, 400, { body: { value: "" } });
    await expectGood(`GET /v1/escalations/${id}`, 200);
    await expectGood(`POST /v1/escalations/${id}/answer`, 200, {
      body: { value: "approve", note: "이번만" },
    });
    await expectRefused(`POST /v1/escalations/${id}/answer`, 409, { body: { value: "approve" } });
    await expectRefused(`POST /v1/escalations/${id}/dismiss`, 409);
    const again = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("boss-2", WORDS.buy, { service: "desk" }),
    );
    const [other] = (
      (await expectGood("GET /v1/escalations?session=boss-2", 200)).body as {
        items: [{ id: string }];
      }
    ).items;
    await expectGood(`POST /v1/escalations/${other.id}/dismiss`, 200, {
      body: { note: "늦었어요" },
    });
    await expectGood("GET /v1/escalations", 200);
    expect(again.body).toMatchObject({ interaction: { error: { code: "APPROVAL_PENDING" } } });

    expect(pending.body).toMatchObject({ interaction: { error: { code: "APPROVAL_PENDING" } } });
  });

  test("a hook without data is one as well", async () => {
    const { body } = await expectGood(
      "POST /v1/agent/chat",
      200,
      chat("hook", WORDS.note, { service: "desk" }),
    );

    expect(body).toMatchObject({ hooks: [{ type: "noted" }] });
  });

  test("people and agents talk in rooms and threads", async () => {
    await expectGood("GET /v1/rooms", 200);
    const direct = await expectGood("POST /v1/rooms", 200, {
      body: { agent: "eden", as_person: "mina" },
    });
    const listed = await expectGood("GET /v1/rooms?as_person=mina", 200);
    const room = (listed.body as { items: { id: string; name: string }[] }).items.find(
      ({ id }) => id !== (direct.body as { id: string }).id,
    )!.id;
    const posted = await expectGood(`POST /v1/rooms/${room}/messages`, 202, {
      body: { text: "<@eden> 안녕하세요", as_person: "mina", client_id: "one" },
    });
    const { message_id } = posted.body as { message_id: string };
    await expectGood(`GET /v1/messages/${message_id}`, 200);
    const mina = { as_person: "mina" };
    await expectGood(`POST /v1/rooms/${room}/presence`, 204, { body: { ...mina, typing: true } });
    const sign = `/v1/messages/${message_id}/reactions/${encodeURIComponent("👍")}`;
    await expectGood(`PUT ${sign}?as_person=mina`, 200);
    await expectGood(`DELETE ${sign}?as_person=mina`, 200);
    await expectGood(`PATCH /v1/messages/${message_id}`, 200, {
      body: { ...mina, text: "<@eden> 안녕하세요?" },
    });
    await expectGood(`DELETE /v1/messages/${message_id}?as_person=mina`, 204);
    await expectGood("GET /v1/notifications?as_person=mina", 200);
    await expectGood("PATCH /v1/notifications", 200, { body: { ...mina, told: "all" } });
    await expectGood(`PUT /v1/notifications/muted/${room}?as_person=mina`, 200);
    await expectGood(`DELETE /v1/notifications/muted/${room}?as_person=mina`, 200);
    await expectGood("DELETE /v1/notifications/subscriptions/none?as_person=mina", 204);
    const told = await expectGood("POST /v1/collaborate", 200, {
      body: {
        agent: "ruda",
        target_agent: "eden",
        message: "로그인 화면을 봐 주세요",
        topic: "login",
        idempotency_key: "once",
      },
    });
    const { thread_id, channel_id } = told.body as { thread_id: string; channel_id: string };
    await expectGood(`GET /v1/rooms/${channel_id}/threads`, 200);
    await expectGood(`GET /v1/threads/${thread_id}`, 200);
    await expectGood(`GET /v1/rooms/${channel_id}/messages?thread=${thread_id}&limit=10`, 200);
    const seen = await expectGood(`GET /v1/rooms/${room}/messages`, 200);
    await expectGood(`POST /v1/rooms/${room}/read`, 204, {
      body: {
        seq: (seen.body as { items: { seq: number }[] }).items.at(-1)!.seq,
        as_person: "mina",
      },
    });
    await expectGood(`POST /v1/threads/${thread_id}/resume`, 200, { body: {} });
    await expectGood(`POST /v1/threads/${thread_id}/stop`, 200, { body: {} });
    await expectGood("POST /v1/rooms/web:general/stop", 200, { body: {} });
    await expectGood("POST /v1/rooms/web:general/retry", 204, { body: {} });
    await expectGood(`DELETE /v1/threads/${thread_id}/participants/eden`, 204);
    await expectGood("GET /v1/messages?search=로그인&limit=5", 200);
    await expectGood("GET /v1/observations", 200);
    await expectGood("GET /v1/agents", 200);
    await expectGood("GET /v1/agents/eden", 200);
    await expectGood("GET /v1/agents/eden/files", 200);
    await expectGood("GET /v1/agents/eden/edits", 200);
    await expectGood("POST /v1/agents/eden/pause", 204, { body: { paused: true } });
    await expectGood("POST /v1/agents/eden/pause", 204, { body: { paused: false } });
    await expectGood("POST /v1/collaborate", 200, {
      body: { agent: "ruda", target_agent: "nobody", message: "-" },
    });

    expect(told.body).toMatchObject({ ok: true, reused: false });
  });

  test("one agent asks another, and the job is watched and steered", async () => {
    const form = new FormData();
    form.set("session_id", "asking");
    form.set("file", new File(["asked about"], "login.txt"));
    const uploaded = await expectGood("POST /v1/agent/files", 201, { body: form });
    const [{ id: file }] = (uploaded.body as { files: [{ id: string }] }).files;
    const asked = await expectGood("POST /v1/jobs", 200, {
      body: {
        files: [file],
        agent: "ruda",
        target: "eden",
        message: "로그인 화면을 봐 주세요",
        max_turns: 1,
        topic: "login",
      },
      headers: { "idempotency-key": "ask" },
    });
    const { job_id } = asked.body as { job_id: string };
    const { files } = (await expectGood(`GET /v1/jobs/${job_id}`, 200)).body as {
      files: [{ id: string }];
    };
    const bytes = await expectGood(`GET /v1/jobs/${job_id}/files/${files[0].id}`, 200);
    expect(bytes.body).toBe("asked about");
    const stream = await expectGood(`GET /v1/jobs/${job_id}/stream`, 200);
    const last = [...String(stream.body).matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
    await expectGood(`GET /v1/jobs/${job_id}/stream`, 204, { headers: { "last-event-id": last } });
    const hanging = await expectGood("POST /v1/jobs", 202, {
      body: {
        agent: "ruda",
        target: "eden",
        message: `${WORDS.hang} 생각해 주세요`,
        wait_sec: 0,
        payload: { kind: "question", question: "언제요?" },
      },
    });
    const { job_id: other } = hanging.body as { job_id: string };
    await expectGood(`POST /v1/jobs/${other}/speak`, 202, {
      body: { text: "짧게 답해 주세요", as_person: "mina" },
    });
    await expectGood("GET /v1/jobs?agent=eden&since=1h&limit=10", 200);
    await expectGood("GET /v1/jobs/audit?stuck=10m&resumes=3", 200);
    await expectGood(`POST /v1/jobs/${other}/retry`, 200);
    await expectGood(`POST /v1/jobs/${other}/cancel`, 200);
    await expectRefused(`POST /v1/jobs/${other}/speak`, 409, { body: { text: "늦었어요" } });
    await expectRefused(`POST /v1/jobs/${other}/retry`, 409);
    await expectRefused(`POST /v1/jobs/${job_id}/retry`, 409);
    await expectRefused(`POST /v1/jobs/${job_id}/cancel`, 409);
    await expectRefused("POST /v1/jobs", 422, {
      body: { agent: "ruda", target: "eden", message: "다른 말" },
      headers: { "idempotency-key": "ask" },
    });
    await expectGood("POST /v1/jobs/purge", 200, { body: { older_than: "7d" } });

    expect(asked.body).toMatchObject({ status: "ok", reply: "네, 알겠습니다." });
  });

  test(
    "a plan is looked at and run, its run watched and merged",
    { timeout: 120_000 },
    async () => {
      await expectGood("GET /v1/plans", 200);
      await expectGood("GET /v1/plans/greet", 200);
      await expectGood("POST /v1/plans/check", 200, {
        body: { file: "new.yaml", text: "plan: new\n" },
      });
      await expectGood("POST /v1/plans/draft", 200, {
        body: { goal: "세션은 30분 뒤에 끝난다", repository: team.repository },
      });
      const drafted = await expectGood("POST /v1/drafts", 201, {
        body: { goal: "세션은 30분 뒤에 끝난다", repository: team.repository },
      });
      const { id: draft } = drafted.body as { id: string };
      await expectGood("GET /v1/drafts", 200);
      await expectGood(`GET /v1/drafts/${draft}`, 200);
      await expectGood(`PUT /v1/drafts/${draft}`, 200, {
        body: { version: 1, text: "plan: new\n" },
      });
      await expectRefused(`PUT /v1/drafts/${draft}`, 409, {
        body: { version: 1, text: "plan: new\n" },
      });
      await expectGood(`POST /v1/drafts/${draft}/answers`, 200, {
        body: { version: 2, answers: [] },
      });
      await expectGood(`DELETE /v1/drafts/${draft}?version=3`, 200);
      await expectGood("POST /v1/runs", 200, { body: { plan: "greet", dry_run: true } });
      const started = await expectGood("POST /v1/runs", 202, {
        body: { plan: "greet" },
        headers: { "idempotency-key": "greet" },
      });
      await expectRefused("POST /v1/runs", 422, {
        body: { plan: "steer" },
        headers: { "idempotency-key": "greet" },
      });
      const { id } = started.body as { id: string };
      const stream = await expectGood(`GET /v1/runs/${id}/events`, 200);
      const last = [...String(stream.body).matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
      await expectGood(`GET /v1/runs/${id}/events`, 204, { headers: { "last-event-id": last } });
      const run = await expectGood(`GET /v1/runs/${id}`, 200);
      await expectGood(`GET /v1/runs/${id}/ports?ids=greet`, 200);
      const port = await expectGood(`GET /v1/runs/${id}/ports/greet`, 200);
      const [step] = (port.body as { steps: { id: number }[] }).steps;
      await expectGood(`GET /v1/runs/${id}/ports/greet/steps/${step!.id}/manifest`, 200);
      await expectGood(`GET /v1/runs/${id}/ports/greet/diff`, 200);
      await expectGood(`GET /v1/runs/${id}/ports/greet/transcript?member=implementer`, 200);
      await expectGood(`GET /v1/runs/${id}/ports/greet/transcript?before=9&limit=1`, 200);
      await expectGood(`GET /v1/runs/${id}/diff`, 200);
      await expectGood(`GET /v1/runs/${id}/leaving`, 200);
      const { commit } = (run.body as { report: { commit: string } }).report;
      await expectRefused(`POST /v1/runs/${id}/approve`, 409, {
        body: { commit: "0".repeat(40) },
      });
      await expectGood(`POST /v1/runs/${id}/approve`, 200, { body: { commit } });
      await expectRefused(`POST /v1/runs/${id}/merge`, 404, { body: { into: "nowhere" } });
      await expectGood(`POST /v1/runs/${id}/merge`, 200, { body: { into: "main" } });
      await expectRefused(`POST /v1/runs/${id}/undo`, 409, { body: { from: "nowhere" } });
      await expectGood(`POST /v1/runs/${id}/undo`, 200, { body: { from: "main" } });
      await expectRefused(`POST /v1/runs/${id}/publish`, 409);
      await expectGood("GET /v1/runs?plan=greet&status=success&limit=5", 200);
      await expectRefused(`POST /v1/runs/${id}/pause`, 409);
      await expectRefused(`POST /v1/runs/${id}/ports/greet/say`, 409, {
        body: { to: "implementer", text: "늦었어요" },
      });
      await expectGood("POST /v1/runs/clean", 200, { body: { older_than_ms: 0, dry_run: true } });
      const cleaned = await expectGood("POST /v1/runs/clean", 200, { body: { run: id } });
      expect(cleaned.body).toEqual({
        items: [{ run: id, plan: "greet", outcome: "cleaned" }],
        next: null,
      });
      await expectRefused(`GET /v1/runs/${id}/diff`, 409);

      expect(run.body).toMatchObject({ status: "success", report: { branch: "dure/greet" } });
    },
  );

  test("a run is steered", { timeout: 120_000 }, async () => {
    const { id } = (
      await expectGood("POST /v1/runs", 202, { body: { plan: "steer", only: ["bad", "hold"] } })
    ).body as { id: string };
    await expect
      .poll(
        async () =>
          (
            (await call(`GET /v1/runs/${id}/ports/hold`)).body as { steps: { status: string }[] }
          ).steps.map(({ status }) => status),
        { timeout: 60_000 },
      )
      .toEqual(["running"]);
    await expectGood("POST /v1/hooks/test-feedback", 200, {
      body: { failed_tests: [{ name: "합계" }] },
      token: await team.hookTokenOf(id),
    });
    await expectRefused("POST /v1/hooks/test-feedback", 400, {
      body: { metrics: 3 },
      token: await team.hookTokenOf(id),
    });
    await expectGood(`POST /v1/runs/${id}/ports/hold/say`, 202, {
      body: { to: "tester", text: "경계값도 봐 주세요" },
    });
    await expectGood(`GET /v1/runs/${id}/ports/hold`, 200);
    await expectGood(`POST /v1/runs/${id}/pause`, 200);
    await expectRefused(`POST /v1/runs/${id}/pause`, 409);
    await expectGood(`POST /v1/runs/${id}/resume`, 200);
    await expectGood(`POST /v1/runs/${id}/ports/bad/retry`, 200, {
      body: {
        hint: "다시",
        tries: 1,
        time_ms: 1_000,
        tokens: 1_000,
        grant: { path: "src/more.txt", wants: "own" },
      },
    });
    await expectRefused(`POST /v1/runs/${id}/ports/hold/retry`, 409);
    await expectGood(`POST /v1/runs/${id}/extend`, 200, { body: { tokens: 1_000 } });
    await expectRefused(`POST /v1/runs/${id}/again`, 409);
    const comments = `/v1/runs/${id}/ports/bad/comments`;
    const written = await expectGood(`POST ${comments}`, 200, {
      body: { path: "src/bad/bad.txt", line: 1, side: "new", quote: "x", text: "이름이 길어요" },
    });
    await expectGood(`GET ${comments}`, 200);
    const [{ id: comment }] = (written.body as { items: [{ id: number }] }).items;
    await expectGood(`DELETE ${comments}/${comment}`, 200);
    await expectRefused(`POST /v1/runs/${id}/ports/hold/approve`, 409);
    await expectRefused(`POST /v1/runs/${id}/ports/hold/review`, 409, { body: { text: "다시" } });
    await expectGood(`POST /v1/runs/${id}/ports/bad/skip`, 200);
    await expectGood("GET /v1/runs", 200);
    await expectGood("GET /v1/runs?key_prefix=acp-", 200);
    await expectGood(`POST /v1/runs/${id}/cancel`, 200);
    await expectGood(`GET /v1/runs/${id}`, 200);
  });

  test("who one is, and how the server is", async () => {
    await expectGood("POST /v1/login", 204, { token: null, body: { token: team.guest } });
    await expectGood("POST /v1/logout", 204, { token: null });
    await expectGood("POST /v1/login/links", 200, { token: team.guest });
    const { body: logins } = await expectGood("GET /v1/login/sessions", 200, { token: team.guest });
    await expectGood(
      `DELETE /v1/login/sessions/${(logins as { items: { id: string }[] }).items[0]!.id}`,
      204,
      { token: team.guest },
    );
    await expectGood("GET /v1/me", 200);
    await expectGood("GET /v1/me", 200, { token: team.guest });
    await expectGood("GET /healthz", 200, { token: null });
    await expectGood("GET /readyz", 200, { token: null });
    await expectGood("GET /readyz", 200);
    await expectGood("GET /metrics", 200);
    await expectGood("GET /v1/costs?days=7", 200);

    const text = { source: "refunds.md", title: "Refunds", text: "# 환불\n환불은 3일 걸려요." };
    const documents = "/v1/knowledge/handbook/documents";
    await expectGood(`PUT ${documents}`, 200, { body: text });
    await expectGood("GET /v1/knowledge", 200);
    await expectGood(`GET ${documents}?limit=1`, 200);
    await expectGood("GET /v1/knowledge/handbook/search?question=%ED%99%98%EB%B6%88&limit=2", 200);
    await expectGood(`DELETE ${documents}?source=refunds.md`, 200);

    await expectGood("POST /v1/schedules/of-none/run", 202, {
      headers: { "idempotency-key": "once" },
    });
    await expectGood("POST /v1/schedules/of-none/pause", 200);
    await expectGood("GET /v1/schedules", 200);
    await expectGood("POST /v1/schedules/of-none/resume", 200);
    await expectGood(
      "GET /v1/audit?what=job.*&name=nobody&subject=job_1&search=%EB%A3%A8%EB%8B%A4&limit=2&cursor=OQ",
      200,
    );
    const { body: listed } = await expectGood("GET /v1/traces?state=done&limit=1", 200);
    const { id: traced } = (listed as { items: { id: string }[] }).items[0]!;
    await expectGood(`GET /v1/traces/${traced}/texts`, 200);
    const { body } = await expectGood("GET /v1/audit?what=login", 200);
    expect(body).toMatchObject({ items: [{ person: "guest", outcome: "done" }] });
  });
});

test.each(HEADS)("%s answers as GET does, without a body", async (head) => {
  const address = team.url + head.slice("HEAD ".length);
  const [asked, got] = await Promise.all([fetch(address, { method: "HEAD" }), fetch(address)]);

  expect([asked.status, asked.headers.get("content-type")]).toEqual([
    got.status,
    got.headers.get("content-type"),
  ]);
  expect(await asked.text()).toBe("");
});

test.each([
  ["POST /v1/agent/chat", 400, chat("with space", "hi")],
  ["POST /v1/agent/chat", 400, chat("s", "")],
  ["POST /v1/agent/chat", 404, chat("s", "hi", { service: "nope" })],
  ["POST /v1/schedules/nope/run", 404],
  ["POST /v1/agent/chat", 413, chat("s", "x".repeat(70_000))],
  ["POST /v1/agent/chat", 413, chat("s", "x".repeat(140_000))],
  ["POST /v1/agent/chat", 415, { body: "hi", headers: { "content-type": "text/plain" } }],
  ["POST /v1/agent/chat", 401, { ...chat("s", "hi"), token: null }],
  ["POST /v1/agent/chat", 401, { ...chat("s", "hi"), token: "no-such-token-anywhere" }],
  [
    "POST /v1/agent/chat",
    403,
    {
      ...chat("s", "hi"),
      headers: { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" },
    },
  ],
  ["POST /v1/agent/chat/stream", 400, { body: { session_id: "s" } }],
  ["POST /v1/agent/chat/stream", 404, chat("s", "hi", { service: "nope" })],
  ["POST /v1/agent/chat/stream", 401, { ...chat("s", "hi"), token: null }],
  ["GET /v1/agent/chat/stream?message=hi", 400],
  ["GET /v1/agent/chat/stream?session_id=s&message=hi&service=nope", 404],
  [
    "GET /v1/agent/chat/stream?session_id=s&message=hi",
    400,
    { headers: { "last-event-id": "nonsense" } },
  ],
  ["GET /v1/agent/chat/stream?session_id=s&message=hi", 401, { token: null }],
  ["GET /v1/agent/turns/turn_0/stream", 404],
  ["GET /v1/agent/turns/turn_0/stream?last_event_id=nonsense", 400],
  ["GET /v1/agent/turns/turn_0/stream", 401, { token: null }],
  ["GET /v1/agent/turns/turn_0/replay", 404],
  ["GET /v1/agent/turns/turn_0/replay", 401, { token: null }],
  ["POST /v1/agent/turns/turn_0/replay", 404, { body: {} }],
  ["POST /v1/agent/turns/turn_0/replay", 400, { body: { models: [] } }],
  ["POST /v1/agent/turns/turn_0/replay", 401, { token: null, body: {} }],
  ["POST /v1/agent/turns/turn_0/stop", 404],
  ["POST /v1/agent/turns/turn_0/retry", 404],
  ["POST /v1/agent/sessions/unknown/leave", 404, { body: { question: "turn_0" } }],
  ["POST /v1/agent/turns/turn_0/stop", 401, { token: null }],
  ["POST /v1/agent/turns/turn_0/retry", 401, { token: null }],
  ["GET /v1/agent/completed", 400],
  ["GET /v1/agent/completed?session_id=nobody", 404],
  ["GET /v1/agent/completed?session_id=nobody", 401, { token: null }],
  ["GET /v1/agent/debug/nobody", 404],
  ["GET /v1/agent/debug/nobody", 401, { token: null }],
  ["GET /v1/agent/sessions?limit=1000", 400],
  ["GET /v1/agent/sessions?cursor=nonsense", 400],
  ["GET /v1/agent/sessions", 401, { token: null }],
  ["GET /v1/agent/sessions/nobody", 404],
  ["GET /v1/agent/sessions/nobody", 401, { token: null }],
  ["DELETE /v1/agent/sessions/nobody", 404],
  ["DELETE /v1/agent/sessions/nobody", 401, { token: null }],
  ["GET /v1/services", 401, { token: null }],
  ["GET /v1/escalations?status=lost", 400],
  ["GET /v1/escalations?cursor=nonsense", 400],
  ["GET /v1/escalations", 401, { token: null }],
  ["GET /v1/escalations/escalation_0", 404],
  ["POST /v1/escalations/escalation_0/dismiss", 404],
  ["POST /v1/escalations/escalation_0/answer", 404, { body: { value: "approve" } }],
  ["GET /v1/events?last=-1", 400],
  ["GET /v1/events", 400, { headers: { "last-event-id": "nonsense" } }],
  ["GET /v1/events", 401, { token: null }],
  ["GET /v1/me", 401, { token: null }],
  ["POST /v1/login", 400, { token: null, body: {} }],
  ["POST /v1/login", 401, { token: null, body: { token: "no-such-token-anywhere" } }],
  [
    "POST /v1/login",
    403,
    {
      token: null,
      body: { token: "no-such-token-anywhere" },
      headers: { origin: "https://elsewhere.example" },
    },
  ],
  ["POST /v1/logout", 403, { token: null, headers: { origin: "https://elsewhere.example" } }],
  ["POST /v1/login/links", 401, { token: null }],
  ["GET /v1/login/sessions", 401, { token: null }],
  ["DELETE /v1/login/sessions/login_0", 401, { token: null }],
  ["DELETE /v1/login/sessions/login_0", 404],
  ["GET /metrics", 401, { token: null }],
  ["POST /v1/reload", 401, { token: null }],
  ["POST /v1/reload", 409], // this team was given in code
  [
    "POST /v1/notifications/subscriptions",
    400,
    {
      body: {
        as_person: "mina",
        endpoint: "http://push.example.com/a",
        keys: { p256dh: "B".repeat(87), auth: "a".repeat(22) },
      },
    },
  ],
  ["GET /v1/rooms", 401, { token: null }],
  ["POST /v1/rooms", 404, { body: { agent: "nobody", as_person: "mina" } }],
  ["GET /v1/rooms/nowhere/messages", 404],
  ["POST /v1/rooms/nowhere/messages", 404, { body: { text: "안녕", as_person: "mina" } }],
  ["POST /v1/rooms/nowhere/messages", 400, { body: { as_person: "mina" } }],
  ["POST /v1/rooms/nowhere/read", 404, { body: { seq: 1, as_person: "mina" } }],
  ["POST /v1/agent/files", 400, { body: {} }],
  ["GET /v1/agent/files/file_0", 404],
  ["POST /v1/rooms/nowhere/files", 404, { body: new FormData() }],
  ["GET /v1/rooms/nowhere/files/file_0", 404],
  [
    "POST /v1/rooms/nowhere/answer",
    404,
    { body: { question: "escalation_0", value: "approve", as_person: "mina" } },
  ],
  ["GET /v1/messages/message_0", 404],
  ["GET /v1/rooms/nowhere/threads", 404],
  ["GET /v1/threads/nothing", 404],
  ["POST /v1/threads/nothing/resume", 404, { body: {} }],
  ["POST /v1/threads/nothing/stop", 404, { body: {} }],
  ["POST /v1/rooms/nowhere/stop", 404, { body: {} }],
  ["POST /v1/rooms/nowhere/retry", 404, { body: {} }],
  ["DELETE /v1/threads/nothing/participants/eden", 404],
  ["GET /v1/messages?search=x", 401, { token: null }],
  ["GET /v1/messages?search=%20", 400],
  ["GET /v1/messages?search=x&cursor=nothing", 400],
  ["GET /v1/observations", 401, { token: null }],
  ["GET /v1/agents", 401, { token: null }],
  ["GET /v1/agents/gone", 404],
  ["GET /v1/traces?state=gone", 400],
  ["GET /v1/traces/turn_0", 404],
  ["GET /v1/traces/turn_0/texts", 404],
  ["GET /v1/traces/nothing", 400],
  ["GET /v1/agents/gone/files", 404],
  ["GET /v1/agents/gone/edits", 404],
  ["GET /v1/agents/eden/edits/1", 404],
  ["POST /v1/agents/eden/edits/1/restore", 404, { body: { side: "after", version: null } }],
  ["PUT /v1/agents/eden/files/SOUL.md", 400, { body: { text: "x" } }],
  // This team was given in code.
  ["PUT /v1/agents/eden/files/SOUL.md", 409, { body: { text: "x", version: null } }],
  ["POST /v1/agents/nobody/pause", 404, { body: { paused: true } }],
  ["POST /v1/collaborate", 400, { body: { agent: "ruda" } }],
  ["GET /v1/knowledge", 401, { token: null }],
  ["GET /v1/knowledge/nothing/documents", 404],
  ["GET /v1/knowledge/handbook/documents?limit=0", 400],
  ["PUT /v1/knowledge/handbook/documents", 400, { body: { source: "a\nb", text: "x" } }],
  ["PUT /v1/knowledge/nothing/documents", 404, { body: { source: "a.md", text: "x" } }],
  ["DELETE /v1/knowledge/nothing/documents?source=a.md", 404],
  ["DELETE /v1/knowledge/handbook/documents", 400],
  ["GET /v1/knowledge/handbook/search", 400],
  ["GET /v1/knowledge/nothing/search?question=x", 404],
  ["GET /v1/audit?cursor=nonsense", 400],
  ["GET /v1/audit?limit=0", 400],
  ["GET /v1/audit", 401, { token: null }],
  ["GET /v1/jobs?status=LOST", 400],
  ["GET /v1/jobs", 401, { token: null }],
  ["POST /v1/jobs", 400, { body: { agent: "ruda", target: "eden", message: "" } }],
  ["POST /v1/jobs", 404, { body: { agent: "ruda", target: "nobody", message: "안녕" } }],
  ["GET /v1/jobs/audit?stuck=long", 400],
  ["GET /v1/jobs/job_0", 404],
  ["GET /v1/jobs/job_0/files/file_0", 404],
  ["GET /v1/jobs/job_0/stream", 404],
  ["GET /v1/jobs/job_0/stream?last_event_id=nonsense", 400],
  ["POST /v1/jobs/job_0/cancel", 404],
  ["POST /v1/jobs/job_0/retry", 404],
  ["POST /v1/jobs/job_0/speak", 404, { body: { text: "안녕" } }],
  ["POST /v1/jobs/purge", 400, { body: { older_than: "long" } }],
  ["GET /v1/plans", 401, { token: null }],
  ["GET /v1/plans/nothing", 404],
  ["GET /v1/plans/broken", 400],
  ["POST /v1/plans/check", 400, { body: { file: "new.yaml" } }],
  ["POST /v1/runs", 404, { body: { plan: "nothing" } }],
  ["POST /v1/runs", 400, { body: { plan: "greet", only: ["nothing"] } }],
  ["POST /v1/runs", 401, { body: { plan: "greet" }, token: null }],
  ["GET /v1/runs?status=lost", 400],
  ["GET /v1/runs/run_0", 404],
  ["GET /v1/runs/run_0/events", 404],
  ["GET /v1/runs/run_0/events?last_event_id=nonsense", 400],
  ["GET /v1/runs/run_0/diff", 404],
  ["GET /v1/runs/run_0/leaving", 404],
  ["POST /v1/runs/run_0/approve", 404, { body: { commit: "0".repeat(40) } }],
  ["POST /v1/runs/run_0/merge", 404],
  ["POST /v1/runs/run_0/undo", 404],
  ["POST /v1/runs/run_0/publish", 404],
  ["POST /v1/runs/run_0/pause", 404],
  ["POST /v1/runs/run_0/resume", 404],
  ["POST /v1/runs/run_0/cancel", 404],
  ["GET /v1/runs/run_0/ports/a", 404],
  ["GET /v1/runs/run_0/ports/a/diff", 404],
  ["GET /v1/runs/run_0/ports/a/transcript", 404],
  ["GET /v1/runs/run_0/ports/a/transcript?member=judge", 400],
  ["GET /v1/runs/run_0/ports/a/transcript?before=0", 400],
  ["GET /v1/runs/run_0/ports/a/steps/1/manifest", 404],
  ["POST /v1/runs/run_0/again", 404],
  ["POST /v1/runs/clean", 404, { body: { run: "run_0" } }],
  ["POST /v1/runs/clean", 400, { body: { older_than_ms: -1 } }],
  ["POST /v1/runs/run_0/extend", 404, { body: { tokens: 1 } }],
  ["POST /v1/runs/run_0/extend", 400, { body: { tokens: 0 } }],
  ["POST /v1/runs/run_0/ports/a/retry", 404],
  ["GET /v1/runs/run_0/ports/a/comments", 404],
  ["POST /v1/runs/run_0/ports/a/comments", 400, { body: { path: "a.ts" } }],
  ["DELETE /v1/runs/run_0/ports/a/comments/1", 404],
  ["POST /v1/runs/run_0/ports/a/review", 404, { body: { text: "다시" } }],
  ["POST /v1/runs/run_0/ports/a/approve", 404],
  ["POST /v1/runs/run_0/ports/a/skip", 404],
  ["POST /v1/runs/run_0/ports/a/say", 404, { body: { to: "tester", text: "안녕" } }],
  ["POST /v1/hooks/test-feedback", 401, { body: {}, token: null }],
  ["POST /v1/hooks/ask", 401, { body: { question: "누구세요?" }, token: null }],
  [
    "POST /v1/hooks/request-access",
    401,
    { body: { path: "src/a.ts", wants: "read", why: "봐야 해요" }, token: null },
  ],
] as [string, number, Call?][])(
  "%s is refused with %i as documented",
  async (what, status, request) => {
    await expectRefused(what, status, request);
  },
);

test("refusals that need something before them are documented as well", async () => {
  await expectGood("POST /v1/agent/chat", 200, {
    ...chat("key", "하나", { service: "desk" }),
    headers: { "idempotency-key": "k" },
  });
  await expectRefused("POST /v1/agent/chat", 422, {
    ...chat("key", "둘", { service: "desk" }),
    headers: { "idempotency-key": "k" },
  });
  await expectRefused("GET /metrics", 403, { token: team.guest });
  await expectRefused("GET /v1/schedules", 403, { token: team.guest });
  await expectRefused("GET /v1/audit", 403, { token: team.guest });
  for (const what of [
    "GET /v1/knowledge",
    "GET /v1/knowledge/handbook/documents",
    "GET /v1/knowledge/handbook/search?question=x",
    "DELETE /v1/knowledge/handbook/documents?source=x",
  ]) {
    await expectRefused(what, 403, { token: team.guest });
  }
  await expectRefused("PUT /v1/knowledge/handbook/documents", 403, {
    body: { source: "a.md", text: "x" },
    token: team.guest,
  });
  await expectRefused("POST /v1/escalations/escalation_0/answer", 403, {
    body: { value: "approve" },
    token: team.guest,
  });
  await expectRefused("POST /v1/escalations/escalation_0/dismiss", 403, { token: team.guest });
  await expectRefused("GET /v1/jobs", 403, { token: team.guest });
  await expectRefused("GET /v1/plans", 403, { token: team.guest });
  await expectRefused("POST /v1/runs", 403, { body: { plan: "greet" }, token: team.guest });
  await expectRefused("POST /v1/jobs/purge", 403, {
    body: { older_than: "7d" },
    token: team.guest,
  });
  let tries = 0;
  while (
    (await call("POST /v1/login", { token: null, body: { token: "no-such-token-anywhere" } }))
      .status !== 429 &&
    tries < 100
  ) {
    tries++;
  }
  await expectRefused("POST /v1/login", 429, {
    token: null,
    body: { token: "no-such-token-anywhere" },
  });
});

test(
  "a wrong word in the document is reported, on the way in and on the way out",
  { ...FULL, timeout: 60_000 },
  async () => {
    const tampered = structuredClone(document) as {
      paths: Record<string, Record<string, { responses: Record<string, object> }>>;
    };
    tampered.paths["/v1/me"]!["get"]!.responses["200"] = {
      description: "Wrong.",
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["shoe_size"],
            properties: { locale: { type: "integer" } },
          },
        },
      },
    };
    delete tampered.paths["/v1/services"]!["get"]!.responses["401"];
    await using other = await ContractProxy.start({ document: tampered, upstream: team.url });

    const me = await other.call("GET", "/v1/me", {
      headers: { authorization: `Bearer ${team.admin}` },
    });
    const services = await other.call("GET", "/v1/services");
    const sessions = await other.call("GET", "/v1/agent/sessions?limit=many", {
      headers: { authorization: `Bearer ${team.admin}` },
    });

    expect(me.status).toBe(200);
    expect(me.violations.map(({ message }) => message)).toEqual([
      expect.stringContaining("shoe_size"),
      expect.stringContaining("integer"),
    ]);
    expect(services.violations.map(({ location: [where] }) => where)).toEqual([
      "request",
      "response",
    ]);
    expect(sessions.violations.map(({ location }) => location.join("."))).toEqual([
      "request.query.limit",
    ]);
  },
);

test("every event that was written is described with its role and all of its data", async () => {
  const written = await team.database.query<Pick<PlatformEvent, "type" | "role" | "data">>({
    text: "select distinct type, role, data from dure.events",
  });

  const strange = written.filter(({ type, role, data }) => {
    const described = EVENTS[type as EventType];
    return (
      described?.role !== role || !z.strictObject(described.data.shape).safeParse(data).success
    );
  });
  expect(strange).toEqual([]);
  const kinds = new Set(written.map(({ type }) => type.split(".")[0]));
  expect([...kinds]).toEqual(expect.arrayContaining(["turn", "escalation", "job", "room", "run"]));
});

test("the event log keeps its contract to its end, which comes with the server's", async () => {
  const open = reached("/v1/events");
  const events = call("GET /v1/events?session=mina&types=turn.*&last=20");
  await open;
  await team.stop();
  const { status, violations, body } = await events;

  expect({ status, violations }).toEqual({ status: 200, violations: [] });
  expect(body).toMatch(/^: events\nid: /);
});

test("nothing that the document lists was left out, and Prism talked only to the server", () => {
  expect(
    operationsOf(document).filter(
      (operation) => !proxy.called.has(operation) && !HEADS.includes(operation),
    ),
  ).toEqual([]);
  expect(proxy.log.filter((line) => line.startsWith("REFUSED"))).toEqual([]);
});

/** Resolves when the server has begun to answer a request for this path. */
async function reached(path: string): Promise<void> {
  const begun = Promise.withResolvers<ServerResponse>();
  const listen = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url?.split("?")[0] === path) begun.resolve(response);
  };
  subscribe("http.server.request.start", listen);
  try {
    const response = await begun.promise;
    await expect.poll(() => response.headersSent).toBe(true);
  } finally {
    unsubscribe("http.server.request.start", listen);
  }
}
