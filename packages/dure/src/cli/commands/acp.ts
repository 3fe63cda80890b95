import type { DureClient } from "../../client/index.ts";
import { connect as connectTo } from "../connect.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";

/** Serves the team to an editor that speaks the Agent Client Protocol, such as Zed. */
export const ACP: CommandSpec = {
  name: "acp",
  about: "serve the team over standard input and output to an editor",
  examples: ["dure acp --dir ~/my-team"],
  worksOn: "server",
  run: (context) => async (options: CommonOptions) => {
    const { serveAcp } = await import("../acp.ts");
    // Anew for each call: the team may have been started again at another port.
    const connect = (): Promise<DureClient> => connectTo(options, { attempts: 1 });

    return serveAcp({ connect }, context.output.streams);
  },
};
