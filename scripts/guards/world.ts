import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const pgvector = testsIn("packages/dure/src/knowledge/pgvector.test.ts");
const acp = testsIn("packages/dure/test/acp/acp-scopes.test.ts");
const agUi = testsIn("packages/dure/test/ag-ui/ag-ui.test.ts");

/** What others' protocols and indexes must not leave out, or see. */
export const WORLD_GUARDS: readonly Guard[] = [
  {
    id: "knowledge.away",
    at: { file: "packages/dure/src/knowledge/vector-index.ts" },
    find: ".catch((error: unknown) => failures.push(error));",
    replace: ";",
    tests: testsIn("packages/dure/src/knowledge/vector-index.test.ts")(
      "whose model is away holds up no other base, and is made whole when it is back",
    ),
    why: "one provider that is away stops the search by meaning of every other base",
  },
  {
    id: "knowledge.outside",
    at: { file: "packages/dure/src/knowledge/vector-space.ts" },
    find: "(select chunk from near union select chunk from outside)",
    replace: "(select chunk from near)",
    tests: pgvector("finds what an older release has stored beside it, before that is placed"),
    why: "a part that no table of pgvector has yet is not found",
  },
  {
    id: "runs.key-prefix.caller",
    at: { file: "packages/dure/src/server/run-routes.ts" },
    find: "keyPrefix: stored(prefix) }",
    replace: 'keyPrefix: "http:" }',
    tests: acp(
      "a token that is another caller's neither loads, resumes nor lists a session of tasks",
    ),
    why: "a caller finds runs by the keys of others",
  },
  {
    id: "ag-ui.answer.key",
    at: { file: "packages/dure/src/ag-ui/ag-ui-routes.ts" },
    find: "JSON.stringify([threadId, runId, answered])",
    replace: "`${threadId} ${runId}`",
    tests: agUi(
      "answers under the id of the run that asked, as CopilotKit does, once and for good",
    ),
    why: "a page that answers under the id of the run that asked is refused",
  },
];
