import { expect, test } from "vitest";
import { DureError, ProcessError } from "../kernel/errors.ts";
import { askAgentTool } from "./ask-agent-tool.ts";
import { JobFencedError } from "./job-exchange-store.ts";

const call = { key: "k", session: "s", turn: "t" };
const { signal } = new AbortController();

async function asked(error: Error): Promise<unknown> {
  const jobs = {
    ask: async (): Promise<never> => {
      throw error;
    },
    files: { read: async () => [] },
  };
  const { execute } = askAgentTool(jobs, { requester: "ruda" });
  const input = { agent: "eden", message: "…" };
  return execute(input, call as never, { signal });
}

test.each([
  new ProcessError("FENCED", "not yours", { class: "conflict" }),
  new JobFencedError("job_1"),
  new ProcessError("LEASE_BUSY", "busy", { class: "conflict" }),
  new DureError("DATABASE_UNAVAILABLE", "away", { class: "unavailable" }),
])("the model reads nothing of a call that met $code", async (error) => {
  await expect(asked(error)).rejects.toBe(error);
});

test.each(["conflict", "limit", "forbidden", "not-found", "input"] as const)(
  "the model reads a refusal of the class %s",
  async (kind) => {
    const error = new DureError("JOB_REFUSED", "No.", { class: kind });

    await expect(asked(error)).resolves.toEqual({
      status: "error",
      code: "JOB_REFUSED",
      hint: "No.",
    });
  },
);
