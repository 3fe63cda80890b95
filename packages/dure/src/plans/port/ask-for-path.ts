import { messageOf } from "../../kernel/errors.ts";
import type { Member } from "../../kernel/plans.ts";
import type { HookAccess } from "../../wire/hooks.ts";
import { grantable } from "../ask/grants.ts";
import {
  ASKED_OPERATOR,
  isGranted,
  KNOWN_PATH,
  NO_PATH,
  pathQuestion,
} from "../ask/path-requests.ts";
import { takeSharedRequest } from "../ask/shared-requests.ts";
import { aboutRun } from "../ask/triggers.ts";
import type { AccessRequest } from "../workers/worker.ts";
import type { PortWork } from "./pair-parts.ts";

/**
 * A member asks for one more path. The question goes to the operator; what is allowed counts from
 * the next try on, for a running process keeps the mounts that it has.
 */
export async function askForPath(
  { run, port, parts, account }: PortWork,
  member: Member,
  request: AccessRequest,
): Promise<HookAccess> {
  const path = grantable(request.path);
  if (path === undefined) return NO_PATH;

  const asked = { ...request, path };
  if (isGranted(account.port.grants, asked)) return KNOWN_PATH;

  const about = { run: run.id, port: port.id, member, plan: run.plan };
  const noted = await takeSharedRequest(parts, about, asked).catch((error: unknown) => ({
    granted: false,
    note: messageOf(error),
  }));
  if (noted) return noted;

  const question = pathQuestion({ ...aboutRun(run), port: port.id, member }, asked);
  await parts.records.write(parts.lease, (tx) => parts.inbox.raise(tx, [question]));
  parts.inbox.announce();

  return ASKED_OPERATOR;
}
