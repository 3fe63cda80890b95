/** Every guard of epochs, tenants, bounds and order that `npm run mutate` breaks. */

import type { Guard } from "../mutate.ts";
import { ALERT_GUARDS } from "./alerts.ts";
import { ANSWER_GUARDS } from "./answers.ts";
import { CALLER_GUARDS } from "./caller.ts";
import { BOUND_GUARDS, DOOR_GUARDS } from "./doors.ts";
import { DURABLE_GUARDS } from "./durable.ts";
import { ENGINE_GUARDS } from "./engine.ts";
import { GATEWAY_GUARDS } from "./gateway.ts";
import { HEARING_GUARDS } from "./hearing.ts";
import { JOB_GUARDS } from "./jobs.ts";
import { LOGIN_GUARDS } from "./logins.ts";
import { MCP_GUARDS } from "./mcp.ts";
import { MEMBER_GUARDS } from "./members.ts";
import { MODEL_GUARDS } from "./models.ts";
import { NETWORK_GUARDS } from "./network.ts";
import { PLAN_GUARDS } from "./plans.ts";
import { RIGHT_GUARDS } from "./rights.ts";
import { ROOM_GUARDS } from "./rooms.ts";
import { SERVER_GUARDS } from "./server.ts";
import { TENANT_GUARDS } from "./tenants.ts";
import { TURN_GUARDS } from "./turns.ts";
import { WORK_GUARDS } from "./work.ts";
import { WORLD_GUARDS } from "./world.ts";

export const GUARDS: readonly Guard[] = [
  ...TURN_GUARDS,
  ...DURABLE_GUARDS,
  ...ENGINE_GUARDS,
  ...ANSWER_GUARDS,
  ...CALLER_GUARDS,
  ...MCP_GUARDS,
  ...JOB_GUARDS,
  ...TENANT_GUARDS,
  ...MEMBER_GUARDS,
  ...RIGHT_GUARDS,
  ...DOOR_GUARDS,
  ...MODEL_GUARDS,
  ...NETWORK_GUARDS,
  ...ROOM_GUARDS,
  ...HEARING_GUARDS,
  ...SERVER_GUARDS,
  ...LOGIN_GUARDS,
  ...BOUND_GUARDS,
  ...GATEWAY_GUARDS,
  ...PLAN_GUARDS,
  ...WORK_GUARDS,
  ...WORLD_GUARDS,
  ...ALERT_GUARDS,
];
