import type { SessionNotification } from "@agentclientprotocol/sdk";
import { askedTool } from "./acp-permission.ts";
import type { WorkerReport } from "./worker-run.ts";
import { MAX_SUMMARY } from "./worker.ts";

/** What an agent tells while it works, passed on to the report. */
export class AcpUpdates {
  /** What the agent said since its last tool call. */
  said = "";
  readonly #report: WorkerReport;
  readonly #onEdit: (path: string) => void;
  #used = 0;

  /** @param onEdit called with each path that the agent says it changes. */
  constructor(report: WorkerReport, onEdit: (path: string) => void) {
    this.#report = report;
    this.#onEdit = onEdit;
  }

  take({ update }: SessionNotification): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") {
          this.said = `${this.said}${update.content.text}`.slice(-MAX_SUMMARY * 2);
        }
        return;
      case "tool_call":
      case "tool_call_update": {
        if (this.said.trim() !== "") this.#report.say(this.said.trim());
        if (update.sessionUpdate === "tool_call") this.said = "";
        if (update.title) this.#report.progress({ currentTask: update.title });
        const { kind, paths } = askedTool(update);
        if (["edit", "delete", "move"].includes(kind)) for (const path of paths) this.#onEdit(path);
        return;
      }
      case "plan": {
        const done = update.entries.filter(({ status }) => status === "completed").length;
        const now = update.entries.find(({ status }) => status === "in_progress");
        const all = update.entries.length;
        this.#report.progress({
          progress: all > 0 ? 0.05 + (0.9 * done) / all : undefined,
          currentTask: now?.content,
        });
        return;
      }
      case "usage_update":
        // What stands in its window now, summed up as it grows: the protocol tells no better
        // number.
        if (update.used > this.#used) {
          this.#report.used({ input: update.used - this.#used, output: 0 });
        }
        this.#used = Math.max(this.#used, update.used);
        return;
      default: // thoughts, modes, commands: nothing that is shown or kept
    }
  }
}
