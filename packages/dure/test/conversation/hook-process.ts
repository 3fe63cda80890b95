import { Outbox } from "../../src/durable/outbox.ts";
import { Takeover } from "../../src/durable/takeover.ts";
import { joinTeam } from "../../src/durable/test-members.ts";
import { HookDelivery } from "../../src/engine/effects/hooks.ts";
import { ledgerService } from "./ledger-service.ts";

/**
 * A process that delivers the hooks of the ledger service until it is killed. Argument: the
 * database's address.
 */
const [, , url = ""] = process.argv;
const us = await joinTeam(url);
const outbox = new Outbox(us);
outbox.handle(
  "hook",
  new HookDelivery({ services: [ledgerService()], logger: us.logger, lease: us.lease.signal })
    .handler,
);
await new Takeover(us).start();
outbox.start();
