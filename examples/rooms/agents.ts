import type { TeamOptions } from "dure/team";

/**
 * 루다 leads, 이든 develops, 세움 runs the servers, 다짐 tests. Their personas stand in
 * `agents/<id>/SOUL.md`. With a real model the team's model answers for each.
 */
export function roomAgents(): NonNullable<TeamOptions["agents"]> {
  return {
    ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
    eden: { displayName: "이든", card: { llm: "offline:eden" } },
    seum: { displayName: "세움", card: { llm: "offline:seum" } },
    dajim: { displayName: "다짐", card: { llm: "offline:dajim" } },
  };
}
