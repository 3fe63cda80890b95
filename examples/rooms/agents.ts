import type { TeamOptions } from "dure/team";

/**
 * 루다 leads, 이든 develops, 세움 runs the servers, 다짐 tests. Their personas stand in
 * `agents/<id>/SOUL.md`.
 */
export function roomAgents(hasKey: boolean): NonNullable<TeamOptions["agents"]> {
  const answersBy = (name: string): object => (hasKey ? {} : { card: { llm: `offline:${name}` } });
  return {
    ruda: { displayName: "루다", leads: true, ...answersBy("ruda") },
    eden: { displayName: "이든", ...answersBy("eden") },
    seum: { displayName: "세움", ...answersBy("seum") },
    dajim: { displayName: "다짐", ...answersBy("dajim") },
  };
}
