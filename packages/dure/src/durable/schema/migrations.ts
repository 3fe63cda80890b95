import type { Migration } from "../release.ts";
import { sql as conversationsGoOn } from "./0002-conversations-go-on.sql.ts";
import { sql as peopleInRooms } from "./0003-people-in-rooms.sql.ts";
import { sql as notifications } from "./0004-notifications.sql.ts";
import { sql as cachedTokens } from "./0005-cached-tokens.sql.ts";
import { sql as journalByCommit } from "./0006-journal-by-commit.sql.ts";
import { sql as a2a } from "./a2a.sql.ts";
import { sql as access } from "./access.sql.ts";
import { sql as budgets } from "./budgets.sql.ts";
import { sql as escalations } from "./escalations.sql.ts";
import { sql as files } from "./files.sql.ts";
import { sql as jobs } from "./jobs.sql.ts";
import { sql as knowledge } from "./knowledge.sql.ts";
import { sql as plans } from "./plans.sql.ts";
import { sql as processes } from "./processes.sql.ts";
import { sql as rooms } from "./rooms.sql.ts";
import { sql as schedules } from "./schedules.sql.ts";
import { sql as triggers } from "./triggers.sql.ts";
import { sql as turns } from "./turns.sql.ts";

/** The tables of the first release, by noun; a table stands behind those that it refers to. */
const BASELINE = [
  processes,
  access,
  turns,
  budgets,
  escalations,
  files,
  rooms,
  jobs,
  plans,
  knowledge,
  schedules,
  a2a,
  triggers,
].join("");

/**
 * Every migration of dure's schema, in order. Append only: an applied migration never changes. A
 * new one is a file `0002-name.sql.ts` in this folder.
 */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "baseline", sql: BASELINE },
  { id: 2, name: "conversations-go-on", sql: conversationsGoOn },
  { id: 3, name: "people-in-rooms", sql: peopleInRooms },
  { id: 4, name: "notifications", sql: notifications },
  { id: 5, name: "cached-tokens", sql: cachedTokens },
  { id: 6, name: "journal-by-commit", sql: journalByCommit },
];
