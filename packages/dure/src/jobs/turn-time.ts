import { HeldTime } from "../kernel/held-time.ts";
import type { TurnEvent } from "../kernel/turn-events.ts";

/** What one conversation turn may take. The time stands still while its agent's model is away. */
export class TurnTime extends HeldTime {
  /** The turn tells this. */
  hear(event: TurnEvent): void {
    const isAway = event.type === "AGENT_START" && event.data.waits === "model";
    if (isAway) this.stop();
    else this.run();
  }
}
