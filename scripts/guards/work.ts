import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const EDITS = "packages/dure/src/team/agent-edits.ts";
const FILES = "packages/dure/src/team/agent-edit-files.ts";
const SKILL_FILES = "packages/dure/src/engine/files/skill-files.ts";
const skillFiles = testsIn("packages/dure/src/engine/files/skill-files.test.ts");
const EDIT_ROUTES = "packages/dure/src/server/agent-edit-routes.ts";
const TRACE_ROUTES = "packages/dure/src/server/trace-routes.ts";
const WALK = "packages/dure/src/server/trace-walk.ts";
const edits = testsIn("packages/dure/test/agents/edits.test.ts");
const editKills = testsIn("packages/dure/test/agents/edits-kill.test.ts");
const traces = testsIn("packages/dure/test/traces/traces.test.ts");
const tenants = testsIn("packages/dure/test/tenants/routes.test.ts");
const walk = testsIn("packages/dure/src/server/trace-walk.test.ts");

/** Who changes agents, upon which text and where; who sees which part of a chain of work. */
export const WORK_GUARDS: readonly Guard[] = [
  {
    id: "agent-edit.version",
    at: { file: EDITS },
    find: "if (now !== upon) throw changedMeanwhile(place);",
    replace: "if (now === null && upon !== null) throw changedMeanwhile(place);",
    tests: edits(
      "a file that was changed elsewhere is not overwritten",
      "of two people who change one text at once, one is told",
    ),
    why: "a change overwrites one that its writer has not read",
  },
  {
    id: "agent-edit.version-under-lock",
    at: { file: EDITS },
    find: "const now = await readFileState(place);\n      assertVersion({ agent, file }, now.version, version);",
    replace: "",
    tests: editKills("a text that came between the row of a change and its file stays"),
    why: "a text that came while the change was written is overwritten",
  },
  {
    id: "agent-edit.open",
    at: { file: EDITS },
    find: "if (!isOpen) throw changedMeanwhile({ agent, file });",
    replace: "",
    tests: editKills("a settling that came between the row of a change and its file stays"),
    why: "a change is written after it was told as refused",
  },
  {
    id: "agent-edit.editable",
    at: { file: EDITS },
    find: "if (because === null) return;",
    replace: 'if (because !== "code") return;',
    tests: edits("only who may do everything for all tenants reads and changes files"),
    why: "a file that no answer reads is changed",
  },
  {
    id: "agent-edit.address",
    at: { file: EDITS },
    find: "if (added.length === 0) return;",
    replace: "if (added.length < 2) return;",
    tests: edits("what a start would refuse is refused before anything is written"),
    why: "the page sends the team's key to a new address",
  },
  {
    id: "agent-edit.markdown-address",
    at: { file: EDITS },
    find: "file === AGENT_MARKDOWN ? addressesIn(",
    replace: 'file === "SOUL.md" ? addressesIn(',
    tests: edits("what a start would refuse is refused before anything is written"),
    why: "the page sends the team's key to a new address by agent.md",
  },
  {
    id: "skill.outside",
    at: { file: SKILL_FILES },
    find: "if (real !== asked) throw fileUnknown(skill, file);",
    replace: "if (real === undefined) throw fileUnknown(skill, file);",
    tests: skillFiles("no path leads out of a skill's folder, and none to its hidden files"),
    why: "a link in a skill shows a model any file of the machine",
  },
  {
    id: "skill.plain-path",
    at: { file: SKILL_FILES },
    find: "if (!isPlain) throw fileUnknown(skill, file);",
    replace: "",
    tests: skillFiles("no path leads out of a skill's folder, and none to its hidden files"),
    why: "a model reads the team's .env by the name of a skill's file",
  },
  {
    id: "skill.named",
    at: { file: "packages/dure/src/team/skills.ts" },
    find: "return skills.filter(({ name }) => named.has(name));",
    replace: "return skills;",
    tests: testsIn("packages/dure/src/team/skills.test.ts")(
      "an agent has all skills of the team, those that its card names, or none",
    ),
    why: "an agent reads skills that its card leaves out",
  },
  {
    id: "approvals.role-stays",
    at: { file: "packages/dure/src/engine/agent/tool.ts" },
    find: "needs?.role !== undefined && asked?.role !== undefined && needs.role !== asked.role",
    replace: "false",
    tests: testsIn("packages/dure/src/team/approvals.test.ts")(
      "a card cannot put another role in the place of the tool's",
    ),
    why: "a card lets others approve than those whom the tool names",
  },
  {
    id: "repeats.files",
    at: { file: "packages/dure/src/engine/turn/turn-acceptance.ts" },
    find: "session: place, files: carried }",
    replace: "session: place }",
    tests: testsIn("packages/dure/test/doors/door-files.test.ts")(
      "a picture that comes again without a session is the same request, and done once",
    ),
    why: "a request with a file that a client repeats is done again",
  },
  {
    id: "approvals.always",
    at: { file: "packages/dure/src/engine/agent/tool.ts" },
    find: "return { ...tool, approval: { expiresMs, question, by: answers, needs: both } };",
    replace: "return tool;",
    tests: testsIn("packages/dure/src/team/agent-markdown.test.ts")(
      "a folder with agent.md is an agent with its model, tools and instructions",
    ),
    why: "a call that agent.md lets a person decide about is made without a yes",
  },
  {
    id: "team-files.skills",
    at: { file: "packages/dure/src/plans/workspace/team-files.ts" },
    find: '"services", "skills", "tools"] as const;',
    replace: '"services"] as const;',
    tests: testsIn("packages/dure/src/plans/workspace/team-files.test.ts")(
      "a repository within the team's folder is the team's where it lies in one of its own folders",
    ),
    why: "a plan on a repository in the team's skills rewrites what agents are told",
  },
  {
    id: "conventions.readable",
    at: { file: "packages/dure/src/plans/context/gather.ts" },
    find: "readable: [...ownFiles, ...others] },",
    replace: "readable: commit.files.map(({ path }) => path) },",
    tests: testsIn("packages/dure/src/plans/context/conventions.test.ts")(
      "a model gets AGENTS.md of the root and the nearest one, and the skills of the repository",
    ),
    why: "a prompt shows an AGENTS.md that its worker may not read",
  },
  {
    id: "tools.named-alone",
    at: { file: "packages/dure/src/team/own-tools.ts" },
    find: "for (const name of new Set(named)) tools",
    replace: "for (const name of own) tools",
    tests: testsIn("packages/dure/src/team/agent-markdown.test.ts")(
      "a folder with agent.md is an agent with its model, tools and instructions",
    ),
    why: "a start runs every script of the folder tools",
  },
  {
    id: "agent-edit.length",
    at: { file: EDITS },
    find: "if (text.length <= MAX_PERSONA) return;",
    replace: "if (text.length <= MAX_PERSONA * 2) return;",
    tests: edits("what a start would refuse is refused before anything is written"),
    why: "a file is longer than what an agent reads",
  },
  {
    id: "agent-edit.settled",
    at: { file: EDITS },
    find: 'return now === before ? "refused" : "unknown";',
    replace: 'return "refused";',
    tests: editKills("a change that was cut, and whose file says neither, is told as unknown"),
    why: "a change whose end is not known is told as refused",
  },
  {
    id: "agent-edit.folder-link",
    at: { file: FILES },
    find: "if (real !== expected) throw isLink(place);",
    replace: "",
    tests: edits("no link leads a change out of the team's folder"),
    why: "a folder that is a link leads changes out of the team's folder",
  },
  {
    id: "agent-edit.file-link",
    at: { file: FILES },
    find: "constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK",
    replace: "constants.O_RDONLY | constants.O_NONBLOCK",
    tests: edits("no link leads a change out of the team's folder"),
    why: "a file that is a link shows what lies outside",
  },
  {
    id: "agent-edit.all-tenants",
    at: { file: EDIT_ROUTES },
    find: 'assertOfAllTenants(callerOf(request), "AGENT_EDIT_NOT_ALLOWED", "change the agents");',
    replace: "",
    tests: tenants("each route answers about one's own things as the table says"),
    why: "a tenant's admin changes the agents of all tenants",
  },
  {
    id: "agent-edit.known",
    at: { file: EDIT_ROUTES },
    find: "if (!rooms.directory.agents.some(({ id }) => id === agent)) throw agentUnknown(agent);",
    replace: "",
    tests: edits("only who may do everything for all tenants reads and changes files"),
    why: "a name that is no agent's leads to a folder",
  },

  // --- chains of work
  {
    id: "trace.tenant",
    at: { file: TRACE_ROUTES },
    find: "if (view !== null && view !== thing.tenant) return false;",
    replace: "",
    tests: traces("another tenant sees nothing of a chain"),
    why: "a tenant sees what happened in another one",
  },
  {
    id: "trace.turn",
    at: { file: TRACE_ROUTES },
    find: 'mayFollow(principal!, session ?? "") &&\n    parts.members',
    replace: "parts.members",
    tests: traces("a token sees of a chain what it may read elsewhere"),
    why: "who may chat sees what agents do for each other",
  },
  {
    id: "trace.members",
    at: { file: TRACE_ROUTES },
    find: 'parts.members.mayKnow(principal!, { session: session ?? "" }),',
    replace: "true,",
    tests: traces("only its person sees the chain of a direct room"),
    why: "one person sees the turns of another one's room",
  },
  {
    id: "trace.job",
    at: { file: TRACE_ROUTES },
    find: 'hasScope(principal!, "jobs") && parts.members.mayKnow(principal!, { job: id })',
    replace: "parts.members.mayKnow(principal!, { job: id })",
    tests: traces("a token sees of a chain what it may read elsewhere"),
    why: "who may chat sees the jobs",
  },
  {
    id: "trace.job-members",
    at: { file: TRACE_ROUTES },
    find: 'hasScope(principal!, "jobs") && parts.members.mayKnow(principal!, { job: id })',
    replace: 'hasScope(principal!, "jobs")',
    tests: traces("only its person sees the chain of a direct room"),
    why: "one person sees the jobs of another one's room",
  },
  {
    id: "trace.run",
    at: { file: TRACE_ROUTES },
    find: 'hasScope(request.principal!, "plans:read")',
    replace: 'hasScope(request.principal!, "chat")',
    tests: traces("a run has its ports, and what the operator agent was asked about it"),
    why: "who may chat sees the runs",
  },
  {
    id: "trace.place",
    at: { file: TRACE_ROUTES },
    find: 'if (codeOf(error) === "PLACE_UNKNOWN") return false;',
    replace: 'if (codeOf(error) === "PLACE_UNKNOWN") return true;',
    tests: traces("only its person sees the chain of a direct room"),
    why: "one person sees the messages of another one's room",
  },
  {
    id: "trace.escalation",
    at: { file: TRACE_ROUTES },
    find: "parts.members.mayKnow(principal!, of)",
    replace: "true",
    tests: traces("what a private room is asked is shown to its person alone"),
    why: "one person sees the questions to another one",
  },
  {
    id: "trace.focus",
    at: { file: WALK },
    find: "if (focus === undefined || !(await maySee(focus))) return undefined;",
    replace: "if (focus === undefined) return undefined;",
    tests: walk("what one may not see hides all that is behind it, on the way up and down"),
    why: "what one may not see is shown where it is asked for by its id",
  },
  {
    id: "trace.up",
    at: { file: WALK },
    find: "if (thing === undefined || !(await maySee(thing))) return { things, isCut: false };",
    replace: "if (thing === undefined) return { things, isCut: false };",
    tests: walk("what one may not see hides all that is behind it, on the way up and down"),
    why: "what began a thing is shown to who may not see it",
  },
  {
    id: "trace.down",
    at: { file: WALK },
    find: "if (found.has(thing.id) || !(await maySee(thing))) continue;",
    replace: "if (found.has(thing.id)) continue;",
    tests: walk("what one may not see hides all that is behind it, on the way up and down"),
    why: "what a thing began is shown to who may not see it",
  },
  {
    id: "trace.bound",
    at: { file: WALK },
    find: "if (found.size >= MOST_THINGS) return { ids, isCut: true };",
    replace: "",
    tests: walk("things that began each other do not go round, and all is bounded"),
    why: "a chain without end fills the memory",
  },
];
