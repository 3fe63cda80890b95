import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import { modulesOfPlan } from "../plan-modules.ts";
import { RunModules } from "./modules.ts";
import { FULL } from "../../kernel/test-tiers.ts";

test(
  "peers are the ports of a module in which something is compiled, in any of 10,000 ports",
  { ...FULL, timeout: 60_000 },
  () => {
    const many = Array.from({ length: 9_998 }, (_, index) => ({
      id: `p${index}`,
      role: "r",
      goal: "g",
      acceptance: "true",
      owns: [`src/one/${index}.ts`],
      ...(index === 0 && { check: "tsc" }),
    }));
    const beside = [
      { id: "x", role: "r", goal: "g", acceptance: "true", owns: ["src/two/x.ts"] },
      { id: "y", role: "r", goal: "g", acceptance: "true", owns: ["src/two/y.ts"] },
    ];
    const plan = parsePlan(
      "plan.json",
      JSON.stringify({
        plan: "many",
        roles: "modules",
        workers: { default: { kind: "offline" } },
        ports: [...many, ...beside],
      }),
    );

    const modules = new RunModules(plan, modulesOfPlan(plan, []));

    expect(modules.peersOf("p7")).toHaveLength(9_997);
    expect(modules.peersOf("x")).toEqual([]); // nothing is compiled there
    expect(modules.checksOf(["p0", "p1", "p0"])).toEqual(["tsc"]);
    const peers = modules.peersOf("p7");
    modules.accept({ port: "p1", commit: "here", base: "b" });
    modules.learn(modules.unknown(peers), [
      { port: "p1", commit: "recorded", base: "b" },
      { port: "p2", commit: "recorded", base: "b" },
    ]);
    // The others were looked up once, for all ports that come.
    expect(modules.unknown(modules.peersOf("p8"))).toEqual(["p7"]);
    expect(["p1", "p2", "p3"].map((port) => modules.accepted(port)?.commit)).toEqual([
      "here",
      "recorded",
      undefined,
    ]);
    modules.forget("p2");
    // A port that is worked on anew is in when it is accepted again.
    expect([modules.accepted("p2"), modules.unknown(["p2"])]).toEqual([undefined, []]);
  },
);
