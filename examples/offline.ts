import { offlineModel } from "dure";
import { answerFaq } from "./faq/offline.ts";
import { answerRooms } from "./meeting-room/offline.ts";
import { answerMinimal } from "./minimal/offline.ts";
import { roomModels } from "./rooms/offline.ts";
import { answerTransfer } from "./transfer/offline.ts";

/**
 * The model of the example team when there is no key: functions that answer in the place of each
 * agent, from the same request that a real model gets. An agent is known by its prompt.
 */
export const examplesModel = offlineModel(
  "examples",
  (request) =>
    answerRooms(request) ??
    answerTransfer(request) ??
    answerFaq(request) ??
    answerMinimal(request) ??
    UNKNOWN,
);

/** Of the team; the first answers without a key. */
export const exampleModels = [examplesModel, ...roomModels];

const UNKNOWN = {
  error: new Error(
    "The offline model of the examples does not know this prompt; give the agent a model, " +
      "or an answer in offline.ts.",
  ),
};
