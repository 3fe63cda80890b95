import { describe, expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import type { Principal } from "./access.ts";
import { Members, NO_TENANT, type Belonging } from "./members.ts";

const PLACES: { id: string; adapter: string; tenant: string; person: string | null }[] = [
  { id: "direct_web", adapter: "web", tenant: "acme", person: "mina" },
  { id: "private_web", adapter: "web", tenant: "acme", person: "mina" },
  { id: "direct_discord", adapter: "discord", tenant: "acme", person: "mina" },
  { id: "slack:board", adapter: "slack", tenant: "acme", person: null },
];
const ORIGINS: Readonly<Record<string, string>> = {
  [jobId("A")]: "room:ruda:direct_web",
  [jobId("B")]: "room:ruda:web:general",
  [jobId("D")]: "escalation:of_room",
};
const SOURCES: Readonly<Record<string, Belonging>> = {
  of_room: { session: "room:ruda:direct_web" },
  of_job: { job: jobId("A") },
  of_channel: { room: "web:general" },
};
const PRIVATE: readonly [string, Belonging][] = [
  ["the room", { room: "direct_web" }],
  ["a thread of the room", { room: "private_web" }],
  ["the session of an agent in that thread", { session: "room:eden:private_web" }],
  ["the session of its agent", { session: "room:ruda:direct_web" }],
  ["the work that began there", { job: jobId("A") }],
  ["the session of an exchange of that work", { session: `job:${jobId("A")}:eden` }],
  ["what stands in an open room and belongs to it", { room: "web:general", job: jobId("A") }],
  ["the operator's look at what waits there", { session: "escalation:of_room" }],
  ["the operator's look at what that work waits for", { session: "escalation:of_job" }],
  ["work that an operator asked for on it", { job: jobId("D") }],
];
const OPEN: readonly [string, Belonging][] = [
  ["a channel", { room: "web:general", session: "room:ruda:web:general" }],
  ["work of a channel", { job: jobId("B") }],
  ["the operator's look at what waits in a channel", { session: "escalation:of_channel" }],
  ["nothing", {}],
];

describe("what belongs to a direct room", () => {
  test.each(PRIVATE)("%s is known to its person and to operators alone", async (_what, of) => {
    const members = aMembership();

    expect(await members.mayKnow(principal("acme", "mina"), of)).toBe(true);
    expect(await members.mayKnow(principal("", "boss", ["admin"]), of)).toBe(true);
    for (const other of [
      principal("acme", "junho"),
      principal("", "mina"),
      principal("acme", undefined),
    ]) {
      expect(await members.mayKnow(other, of)).toBe(false);
      expect(await members.view(other, of, "acme")).toBe(NO_TENANT);
    }
  });

  test.each(OPEN)("%s is known to all of the tenant", async (_what, of) => {
    expect(await aMembership().mayKnow(principal("acme", "junho"), of)).toBe(true);
  });

  test("a direct message and a private thread of a platform are for operators alone", async () => {
    const members = aMembership();

    for (const room of ["direct_discord", "private_thread", "direct_gone", "slack:board"]) {
      expect(await members.mayKnow(principal("acme", "mina"), { room })).toBe(false);
      expect(await members.mayKnow(principal("acme", undefined), { room })).toBe(false);
      expect(await members.mayKnow(principal("", "boss", ["admin"]), { room })).toBe(true);
    }
  });

  test("a channel of a platform is known to all from when it is open, and until it is private", async () => {
    const members = aMembership();
    const mayKnow = (): Promise<boolean> =>
      members.mayKnow(principal("acme", "mina"), { session: "room:ruda:slack:new" });

    expect(await mayKnow()).toBe(true);
    PLACES.push({ id: "slack:new", adapter: "slack", tenant: "acme", person: null });
    expect(await mayKnow()).toBe(false);
    PLACES.pop();
    expect(await mayKnow()).toBe(true);
  });

  test("what is left of work and decisions that are gone is for operators alone", async () => {
    const members = aMembership();

    for (const of of [
      { job: jobId("C") },
      { session: `job:${jobId("C")}:eden` },
      { session: "escalation:gone" },
    ]) {
      expect(await members.mayKnow(principal("acme", "mina"), of)).toBe(false);
      expect(await members.mayKnow(principal("", "boss", ["admin"]), of)).toBe(true);
    }
  });
});

function aMembership(): Members {
  return new Members({
    rooms: { privatePlace: async (place) => PLACES.find(({ id }) => id === place) },
    jobs: { originOf: async (job) => ORIGINS[job] },
    inbox: {
      get: async (id) => {
        const source = SOURCES[id];
        if (source) return { source };
        throw new DureError("ESCALATION_UNKNOWN", `There is no ${id}.`, { class: "not-found" });
      },
    },
  });
}

function principal(
  tenant: string,
  person: string | undefined,
  scopes: Principal["scopes"] = ["chat", "rooms", "jobs"],
): Principal {
  return { caller: { tenant, name: person ?? "a program" }, person, scopes, proof: "bearer" };
}

function jobId(letter: string): string {
  return `job_${letter.repeat(26)}`;
}
