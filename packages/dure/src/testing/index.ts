// Test doubles, public on purpose: what dure is tested with, for the tests of its users.

export { ScriptedModel } from "./scripted-model.ts";
export type { ScriptStep } from "./scripted-model.ts";

export { WebFaultSwitch } from "./web-faults.ts";
export type { WebFault } from "./web-faults.ts";

export { PostgresProxy } from "./postgres-proxy.ts";
export type { Cut, MessageTest, ProxiedMessage, ProxiedStatement, StatementTest, Stop } from "./postgres-proxy.ts";
