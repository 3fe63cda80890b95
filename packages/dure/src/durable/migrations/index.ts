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

/** Every migration of dure's schema, in order. Append only: an applied migration never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "turns", sql: turns },
  { id: 2, name: "processes-events-outbox", sql: processesEventsOutbox },
  { id: 3, name: "access-and-answers", sql: accessAndAnswers },
  { id: 4, name: "budgets", sql: budgets },
  { id: 5, name: "rooms", sql: rooms },
  { id: 6, name: "jobs", sql: jobs },
  { id: 7, name: "plans", sql: plans },
  { id: 8, name: "order", sql: order },
  { id: 9, name: "logins", sql: logins },
  { id: 10, name: "tenants", sql: tenants },
  { id: 11, name: "plan-promises", sql: planPromises },
  { id: 12, name: "account-reasons", sql: accountReasons },
  { id: 13, name: "questions", sql: questions },
  { id: 14, name: "release", sql: release },
  { id: 15, name: "job-answers", sql: jobAnswers },
  { id: 16, name: "answers-home", sql: answersHome },
  { id: 17, name: "brake", sql: brake },
  { id: 18, name: "plan-transcripts", sql: planTranscripts },
];
