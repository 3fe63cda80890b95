import type { Migration } from "../release.ts";
import { sql as turns } from "./0001-turns.ts";
import { sql as processesEventsOutbox } from "./0002-processes-events-outbox.ts";
import { sql as accessAndAnswers } from "./0003-access-and-answers.ts";
import { sql as budgets } from "./0004-budgets.ts";
import { sql as rooms } from "./0005-rooms.ts";
import { sql as jobs } from "./0006-jobs.ts";
import { sql as plans } from "./0007-plans.ts";
import { sql as order } from "./0008-order.ts";
import { sql as logins } from "./0009-logins.ts";
import { sql as tenants } from "./0010-tenants.ts";
import { sql as planPromises } from "./0011-plan-promises.ts";
import { sql as accountReasons } from "./0012-account-reasons.ts";
import { sql as questions } from "./0013-questions.ts";
import { sql as release } from "./0014-release.ts";
import { sql as jobAnswers } from "./0015-job-answers.ts";
import { sql as answersHome } from "./0016-answers-home.ts";
import { sql as brake } from "./0017-brake.ts";
import { sql as planTranscripts } from "./0018-plan-transcripts.ts";
import { sql as planWaits } from "./0019-plan-waits.ts";
import { sql as planReviews } from "./0020-plan-reviews.ts";
import { sql as knowledge } from "./0021-knowledge.ts";
import { sql as schedules } from "./0022-schedules.ts";
import { sql as a2a } from "./0023-a2a.ts";
import { sql as planDrafts } from "./0024-plan-drafts.ts";
import { sql as a2aPushes } from "./0025-a2a-pushes.ts";
import { sql as replays } from "./0026-replays.ts";
import { sql as knowledgeVectors } from "./0027-knowledge-vectors.ts";
import { sql as runCalls } from "./0028-run-calls.ts";
import { sql as agentEdits } from "./0029-agent-edits.ts";
import { sql as knowledgeNear } from "./0030-knowledge-near.ts";
import { sql as planApprovals } from "./0031-plan-approvals.ts";
import { sql as audiences } from "./0032-audiences.ts";
import { sql as tokenRoles } from "./0033-token-roles.ts";
import { sql as roomQuestions } from "./0034-room-questions.ts";
import { sql as files } from "./0035-files.ts";
import { sql as roomFiles } from "./0036-room-files.ts";
import { sql as effectFiles } from "./0037-effect-files.ts";
import { sql as jobFiles } from "./0038-job-files.ts";

/**
 * Checksums under which databases know migrations that were released with the functions of their
 * time. Those stand in the files `*.sql.ts` now, and each start puts them in place.
 */
const RELEASED = {
  1: "b4844c6b1fb0c68678ee4f614bcb9552485124d742b324149d2ab93bffeab8b7",
  2: "7c4b4eaade63e583f5519fe54b33397e2a405e7756ccadee794a67795c393722",
  3: "c8648e48a2df5b07e49aaedc6fe5473829e71401b1093151c79b2f54ac6c5996",
  4: "4b66b5bd9e1ce1b061964c485c5254379134531c8a8c63a6e0a10fcbc053268c",
  5: "5972e57e30669d9fe74ead9203889d43244d25b3fdcba0009ef4f0f2b6d25151",
  6: "50a2c77a0a3d204a37811b3690a26e19fe01fb5a01c158fb638d69aa068ea6cb",
  7: "4124a373929a9842936576772146745058ecfd7c53216dde09ab0f1fd576126b",
  8: "25f7ca1e1922ce0bb066a8cf300b9ce065fc8a47f166c9b4bf955cff655a65f7",
  9: "444fd4ef9148e2312a8931052fb671ccfa990a5bbf62c8113d4c11fe71190ddf",
  10: "100c81effb4a69c336ccb416cc843147544eda8703ea8367001677bae6744237",
  13: "90ac0b7329aa955e934e7e232e5ccb38053c169bb73b246454fe186af64373b3",
} as const;

/** Every migration of dure's schema, in order. Append only: an applied migration never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "turns", sql: turns, released: RELEASED[1] },
  { id: 2, name: "processes-events-outbox", sql: processesEventsOutbox, released: RELEASED[2] },
  { id: 3, name: "access-and-answers", sql: accessAndAnswers, released: RELEASED[3] },
  { id: 4, name: "budgets", sql: budgets, released: RELEASED[4] },
  { id: 5, name: "rooms", sql: rooms, released: RELEASED[5] },
  { id: 6, name: "jobs", sql: jobs, released: RELEASED[6] },
  { id: 7, name: "plans", sql: plans, released: RELEASED[7] },
  { id: 8, name: "order", sql: order, released: RELEASED[8] },
  { id: 9, name: "logins", sql: logins, released: RELEASED[9] },
  { id: 10, name: "tenants", sql: tenants, released: RELEASED[10] },
  { id: 11, name: "plan-promises", sql: planPromises },
  { id: 12, name: "account-reasons", sql: accountReasons },
  { id: 13, name: "questions", sql: questions, released: RELEASED[13] },
  { id: 14, name: "release", sql: release },
  { id: 15, name: "job-answers", sql: jobAnswers },
  { id: 16, name: "answers-home", sql: answersHome },
  { id: 17, name: "brake", sql: brake },
  { id: 18, name: "plan-transcripts", sql: planTranscripts },
  { id: 19, name: "plan-waits", sql: planWaits },
  { id: 20, name: "plan-reviews", sql: planReviews },
  { id: 21, name: "knowledge", sql: knowledge },
  { id: 22, name: "schedules", sql: schedules },
  { id: 23, name: "a2a", sql: a2a },
  { id: 24, name: "plan-drafts", sql: planDrafts },
  { id: 25, name: "a2a-pushes", sql: a2aPushes },
  { id: 26, name: "replays", sql: replays },
  { id: 27, name: "knowledge-vectors", sql: knowledgeVectors },
  { id: 28, name: "run-calls", sql: runCalls },
  { id: 29, name: "agent-edits", sql: agentEdits },
  { id: 30, name: "knowledge-near", sql: knowledgeNear },
  { id: 31, name: "plan-approvals", sql: planApprovals },
  { id: 32, name: "audiences", sql: audiences },
  { id: 33, name: "token-roles", sql: tokenRoles },
  { id: 34, name: "room-questions", sql: roomQuestions },
  { id: 35, name: "files", sql: files },
  { id: 36, name: "room-files", sql: roomFiles },
  { id: 37, name: "effect-files", sql: effectFiles },
  { id: 38, name: "job-files", sql: jobFiles },
];
