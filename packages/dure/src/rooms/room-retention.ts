import type { RetentionRule } from "../durable/retention.ts";
import type { RoomLimits } from "./limits.ts";

/** Rows of rooms age too. Source: docs/spec/collaboration §3, §7, §9. */
export function roomRetention(limits: RoomLimits): readonly RetentionRule[] {
  return [
    // Not since it was said: what was read late has been seen all the same.
    { name: "room-messages", table: "dure.room_messages", ageColumn: "heard_at", keep: "90d" },
    {
      name: "handlings",
      table: "dure.handlings",
      ageColumn: "finished_at",
      keep: "7d",
      where: "state = 'done'",
    },
    {
      name: "observations",
      table: "dure.observations",
      ageColumn: "at",
      keep: limits.observationsMs,
    },
    { name: "room-client-ids", table: "dure.room_client_ids", ageColumn: "at", keep: "24h" },
    {
      name: "requests",
      table: "dure.requests",
      ageColumn: "closed_at",
      keep: "7d",
      where: "state <> 'open'",
    },
    { name: "collaborations", table: "dure.collaborations", ageColumn: "at", keep: "7d" },
    {
      name: "participants",
      table: "dure.participants",
      ageColumn: "since",
      keep: limits.participantsMs,
      where: FORGOTTEN(limits.participantsMs),
    },
    {
      name: "thread-routes",
      table: "dure.thread_routes",
      ageColumn: "renewed_at",
      keep: limits.routeMs,
    },
    {
      name: "room-threads",
      table: "dure.places",
      ageColumn: "active_at",
      keep: "365d",
      where: "kind = 'thread'",
    },
    {
      name: "stops",
      table: "dure.stops",
      ageColumn: "done_at",
      keep: "7d",
      where: "done_at is not null",
    },
    { name: "web-posts", table: "dure.web_posts", ageColumn: "at", keep: "24h" },
  ];
}

/** Of threads that slept for too long, whether or not they were looked at since. */
const FORGOTTEN = (ms: number): string =>
  `place in (
    select id from dure.places
    where kind = 'thread'
      and active_at < clock_timestamp() - ${Math.round(ms)} * interval '1 millisecond')`;
