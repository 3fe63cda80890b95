import { sql as budgets } from "../durable/budgets.sql.ts";
import { sql as effects } from "../durable/effects.sql.ts";
import { sql as eventLog } from "../durable/event-log.sql.ts";
import { sql as files } from "../durable/files/files.sql.ts";
import { sql as outbox } from "../durable/outbox.sql.ts";
import type { Schema } from "../durable/release.ts";
import { MIGRATIONS } from "../durable/schema/migrations.ts";
import { sql as tenants } from "../durable/tenants.sql.ts";
import { sql as turns } from "../durable/turns.sql.ts";
import { sql as escalations } from "../escalations/escalations.sql.ts";
import { sql as jobEnds } from "../jobs/job-ends.sql.ts";
import { sql as jobNotices } from "../jobs/job-notices.sql.ts";
import { sql as jobPermits } from "../jobs/job-permits.sql.ts";
import { sql as jobRetries } from "../jobs/job-retries.sql.ts";
import { sql as jobTurns } from "../jobs/job-turns.sql.ts";
import { sql as jobs } from "../jobs/jobs.sql.ts";
import { sql as ports } from "../plans/rows/ports.sql.ts";
import { sql as handlings } from "../rooms/answer/handlings.sql.ts";
import { sql as privacy } from "../rooms/look/privacy.sql.ts";
import { sql as rooms } from "../rooms/rooms.sql.ts";
import { DURE_VERSION } from "./version.ts";

/**
 * The schema of this release: tables by migrations, and all functions as they are now. A change of
 * either raises `number` and is noted by `npm run schema -- --write`; `npm test` asks for it.
 */
export const SCHEMA: Schema = {
  version: DURE_VERSION,
  number: 10,
  // Raised by a release that takes away what older ones use.
  oldest: 0,
  migrations: MIGRATIONS,
  // What a function in plain SQL calls comes before it.
  functions: {
    tenants,
    "event-log": eventLog,
    outbox,
    escalations,
    files,
    turns,
    effects,
    budgets,
    rooms,
    handlings,
    privacy,
    "job-notices": jobNotices,
    "job-turns": jobTurns,
    jobs,
    "job-permits": jobPermits,
    "job-ends": jobEnds,
    "job-retries": jobRetries,
    ports,
  },
};
