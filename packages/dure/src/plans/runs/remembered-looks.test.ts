import { expect, test } from "vitest";
import type { ReviewNeeded } from "../../wire/runs.ts";
import { RememberedLooks } from "./remembered-looks.ts";

type Found = ReviewNeeded | undefined;

/** A look that ends when the test says so. */
function heldLook() {
  const { promise, resolve, reject } = Promise.withResolvers<Found>();
  let begun = 0;
  const look = (): Promise<Found> => {
    begun += 1;
    return promise;
  };
  return { look, resolve, reject, begun: () => begun };
}

const { signal } = new AbortController();
const ACME = { tenant: "acme", signal };
const OTHER = { tenant: "other", signal };
const FOUND = { findings: [] } as unknown as ReviewNeeded;

/** What waits behind promises that are settled has run. */
async function turnsPassed(): Promise<void> {
  for (let count = 0; count < 10; count++) await Promise.resolve();
}

test("one key is looked at once, also by those who ask while the look goes on", async () => {
  const looks = new RememberedLooks();
  const held = heldLook();
  const asked = [looks.get("a", ACME, held.look), looks.get("a", ACME, held.look)];
  await turnsPassed();

  held.resolve(FOUND);

  expect(await Promise.all(asked)).toEqual([FOUND, FOUND]);
  expect(await looks.get("a", ACME, held.look)).toBe(FOUND);
  expect(held.begun()).toBe(1);
});

test("a look goes on for the others when the caller who began it has left", async () => {
  const looks = new RememberedLooks();
  const held = heldLook();
  const [began, joined] = [new AbortController(), new AbortController()];
  const first = looks.get("a", { ...ACME, signal: began.signal }, (given) => {
    given.addEventListener("abort", () => held.reject(given.reason));
    return held.look();
  });
  const second = looks.get("a", { ...ACME, signal: joined.signal }, held.look);
  await turnsPassed();

  began.abort(new Error("the first has left"));
  await expect(first).rejects.toThrow("the first has left");
  held.resolve(FOUND);

  expect(await second).toBe(FOUND);
  expect(held.begun()).toBe(1);
});

test("a look stops when all who asked have left, and who asks then gets one that is new", async () => {
  const looks = new RememberedLooks();
  const held = heldLook();
  const leaving = [new AbortController(), new AbortController()];
  const asked = leaving.map(({ signal: own }) =>
    looks.get("a", { ...ACME, signal: own }, (given) => {
      given.addEventListener("abort", () => held.reject(given.reason));
      return held.look();
    }),
  );
  await turnsPassed();

  for (const one of leaving) one.abort(new Error("all have left"));
  const again = looks.get("a", ACME, async () => FOUND);

  for (const one of asked) await expect(one).rejects.toThrow("all have left");
  await expect(held.look()).rejects.toThrow("all have left");
  expect(await again).toBe(FOUND);
});

test("a look that found nothing is remembered as well", async () => {
  const looks = new RememberedLooks();
  const held = heldLook();
  held.resolve(undefined);

  await looks.get("a", ACME, held.look);

  expect(await looks.get("a", ACME, held.look)).toBeUndefined();
  expect(held.begun()).toBe(1);
});

test("a look that failed is not remembered: the next one looks again", async () => {
  const looks = new RememberedLooks();
  const failed = heldLook();
  failed.reject(new Error("the repository is locked"));
  const again = heldLook();
  again.resolve(FOUND);

  await expect(looks.get("a", ACME, failed.look)).rejects.toThrow("the repository is locked");

  expect(await looks.get("a", ACME, again.look)).toBe(FOUND);
  expect(await looks.get("a", ACME, failed.look)).toBe(FOUND);
});

test("a failed look does not take away what was found under its key meanwhile", async () => {
  const looks = new RememberedLooks();
  const failed = heldLook();
  const asked = looks.get("a", ACME, failed.look).catch(() => "failed");
  for (let index = 0; index < 100; index++) {
    void looks.get(`other ${index}`, { ...ACME, tenant: `tenant ${index}` }, async () => undefined);
  }
  const again = heldLook();
  again.resolve(FOUND);
  const second = looks.get("a", OTHER, again.look); // the first one was pushed out

  failed.reject(new Error("late"));

  expect(await asked).toBe("failed");
  expect(await second).toBe(FOUND);
  await turnsPassed();
  expect(await looks.get("a", OTHER, failed.look)).toBe(FOUND);
  expect(again.begun()).toBe(1);
});

test("a tenant has one look at a time, and goes on after one that failed", async () => {
  const looks = new RememberedLooks();
  const [first, second] = [heldLook(), heldLook()];
  const failing = looks.get("a", ACME, first.look).catch(() => "failed");
  const waiting = looks.get("b", ACME, second.look);
  await turnsPassed();
  expect([first.begun(), second.begun()]).toEqual([1, 0]);

  first.reject(new Error("no"));
  second.resolve(FOUND);

  expect(await failing).toBe("failed");
  expect(await waiting).toBe(FOUND);
});

test("a tenant's look waits for no other tenant's", async () => {
  const looks = new RememberedLooks();
  const held = heldLook();
  const ofAcme = looks.get("a", ACME, held.look);

  expect(await looks.get("b", OTHER, async () => FOUND)).toBe(FOUND);

  held.resolve(undefined);
  expect(await ofAcme).toBeUndefined();
});

test("of more than a hundred looks the oldest is forgotten, and no other", async () => {
  const looks = new RememberedLooks();
  const again = heldLook();
  again.resolve(FOUND);
  for (let index = 0; index < 101; index++) {
    await looks.get(`look ${index}`, ACME, async () => undefined);
  }

  expect(await looks.get("look 1", ACME, again.look)).toBeUndefined();
  expect(await looks.get("look 100", ACME, again.look)).toBeUndefined();
  expect(again.begun()).toBe(0);
  expect(await looks.get("look 0", ACME, again.look)).toBe(FOUND);
  expect(again.begun()).toBe(1);
});
