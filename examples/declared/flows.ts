import type { FlowHandler } from "dure";
import { streamAgentTurn } from "dure/compat";

/** The generator face of a flow: start, tokens, memory and `DONE` in one line. */
export const answer: FlowHandler = (turn) => streamAgentTurn(turn, "helper", "답변 작성 중");
