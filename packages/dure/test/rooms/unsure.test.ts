import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { WebAdapter } from "../../src/rooms/web-adapter.ts";
import { WebFaultSwitch } from "../../src/testing/web-faults.ts";
import { collaborate, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** 루다 has asked 이든, its message cannot be found any more, and somebody has to say what became of it. */
async function unsureRequest(): Promise<{ team: TestTeam; message: string; escalation: string; shown: () => Promise<readonly string[]> }> {
  const faults = new WebFaultSwitch();
  const platform = webPlatform();
  const team = await readyTeamOn(platform, { behave: { ruda: silent }, adapter: (database) => new WebAdapter({ database, faults }) });
  faults.add({ what: "post", failure: "transient", times: 4, agent: "ruda" });
  faults.add({ what: "find", failure: "permission", times: 10 });
  const asked = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
  const { items: [escalation] } = await eventually(async () => {
    const page = await team.inbox.list({ tenant: "", status: "open" });
    expect(page.items).toHaveLength(1);
    return page;
  });
  expect(escalation).toMatchObject({ type: "delivery", context: { outcome: "unknown" } });
  expect(escalation!.suggestedActions.map(({ value }) => value)).toEqual(["sent", "again", "failed"]);
  return { team, message: asked.messageId, escalation: escalation!.id, shown: () => platform.shown(team, asked.threadId) };
}

describe("a post of which nobody knows whether it has arrived", { timeout: 60_000 }, () => {
  test.each(["sent", "again"])("goes on when a person says `%s`: the asked agent hears it once, and the request is open again", async (value) => {
    const { team, message, escalation, shown } = await unsureRequest();
    expect(team.calls("eden")).toBe(0);

    await team.inbox.answer(escalation, { value }, { tenant: "", name: "boss" });

    await eventually(() => expect(team.calls("eden")).toBe(1));
    await settled(team);
    expect((await team.rooms.message(message, { tenant: "", person: "" })).delivery).toBe("sent");
    expect(await team.database.query({ text: "select state from dure.requests" })).toEqual([{ state: "answered" }]);
    if (value === "again") expect(await shown()).toEqual(["루다: @이든 검토", "이든: 이든의 답입니다"]);
  });

  test("stays unsaid when a person gives it up", async () => {
    const { team, message, escalation } = await unsureRequest();

    await team.inbox.answer(escalation, { value: "failed" }, { tenant: "", name: "boss" });

    await eventually(async () => expect((await team.rooms.message(message, { tenant: "", person: "" })).delivery).toBe("failed"));
    expect(await team.database.query({ text: "select state from dure.requests" })).toEqual([{ state: "withdrawn" }]);
    expect(team.calls("eden")).toBe(0);
  });
});
