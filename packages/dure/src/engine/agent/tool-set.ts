import type { AnyTool } from "./tool.ts";

/** Tools that come and go while the team runs, such as those of an MCP server. */
export interface ToolSet {
  /** For people. */
  readonly name: string;
  /** Those of now, by the name that a model calls. The same object while nothing changes. */
  tools(): Readonly<Record<string, AnyTool>>;
  /**
   * By the name that a model calls: a tool of now, or for one that an earlier life of the turn may
   * have called a stand-in, which refuses new calls. Undefined: no name of this set. Depends on the
   * name alone, whatever the set holds.
   */
  find(name: string): AnyTool | undefined;
}
