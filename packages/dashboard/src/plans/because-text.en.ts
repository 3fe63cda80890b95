import type { BecauseTexts } from "dure/korean";

/** Why a port or a run stands as it does, and what to do, by code; fetched with their pages. */
export const BECAUSES_EN: BecauseTexts = {
  TRIES_EXHAUSTED: {
    says: "All tries are used up.",
    hint: "Say what to do differently, and let it try again.",
  },
  PORT_TIMEOUT: {
    says: "Its time is over.",
    hint: "Give it more time, or cut the work smaller.",
  },
  DEPENDENCY_FAILED: {
    says: "A port that it needs has failed.",
    hint: "Retry the failed port; this one then goes on by itself.",
  },
  CONFLICT: {
    says: "Several ports changed the same file.",
    hint: "Give the file to one port, or set workers.orchestrator.",
  },
  OWNERSHIP_VIOLATED: {
    says: "It changed what it does not own. That change was not taken.",
    hint: "Let it own the path, or tell it to leave the path alone.",
  },
  TOKENS_EXHAUSTED: {
    says: "Its tokens are used up.",
    hint: "Give it more tokens, or cut the work smaller.",
  },
  RUN_TOKENS_EXHAUSTED: {
    says: "The tokens of the whole run are used up.",
    hint: "Give the run more tokens.",
  },
  SETUP_FAILED: {
    says: "The set-up command failed.",
    hint: "Run the command yourself in a fresh clone.",
  },
  HOST_REFUSED: {
    says: "A command asked for a host that it may not reach.",
    hint: "Allow the host in the plan, or in .dure/project.yaml of the repository.",
  },
  WORKER_NOT_STARTED: {
    says: "The worker could not be started.",
    hint: "Check the command in the plan and that it is installed.",
  },
  TESTS_WEAKENED: {
    says: "Its tests say less than before.",
    hint: "Tell it to leave the tests alone, or write weaker_tests: allowed at the port.",
  },
  REVIEW_UNCHANGED: {
    says: "Its review came to no change.",
    hint: "Approve the work as it is, or send it back and say more exactly what to change.",
  },
  WORKER_LOGIN: {
    says: "The worker is not signed in.",
    hint: "Sign in with the agent's own program, or pass its key on with env in the plan.",
  },
  WRITABLE_OF_PERSON: {
    says: "The plan would let a worker change what runs for you afterwards.",
    hint: "Take it out of writable, and use agent or copy_home.",
  },
  WORKER_UNKNOWN: {
    says: "No worker does this.",
    hint: "Name default or the role under workers of the plan.",
  },
  ISOLATION_UNAVAILABLE: {
    says: "There is no way to confine workers here.",
    hint: "Install bubblewrap, or allow user namespaces and network namespaces.",
  },
  PLAN_TAKES_SECRET: {
    says: "The plan would give a worker a secret of dure.",
    hint: "Take it out of env under workers, and give what is needed under another name.",
  },
  INTEGRATION_FAILED: {
    says: "The tests after the merge failed.",
    hint: "Look at the output in the report, then merge again or retry.",
  },
  SHARED_CHANGES_FAILED: {
    says: "With the changes of shared files the tests after the merge fail. They were left out.",
    hint: "Change those files yourself, and merge again.",
  },
  CONTRACTS_MISSING: {
    says: "Contract files are missing.",
    hint: "Write and commit them, or set workers.orchestrator.",
  },
  SCOPE_TOO_SCATTERED: {
    says: "The paths that it owns are too scattered.",
    hint: "Let it own whole folders instead of kinds of files.",
  },
  SCOPE_THROUGH_LINK: {
    says: "A path that it owns goes through a symbolic link.",
    hint: "Name in the plan what the link points to.",
  },
  SUBMODULE_OWNED: {
    says: "A path that it owns is in a submodule.",
    hint: "Run the plan in that repository, or leave the path out.",
  },
  DISK_FULL: { says: "The disk is full.", hint: "Free some space, and retry." },
  NOT_A_REPOSITORY: {
    says: "This is no git repository.",
    hint: "Name the folder of a repository.",
  },
  PORT_SKIPPED: { says: "It was left out on request.", hint: "Retry it to take it in again." },
  NOT_STARTED: { says: "It was not started." },
  RUN_CANCELLED: { says: "The run was cancelled." },
  INTERNAL: { says: "Something went wrong in dure.", hint: "Look at the log of the server." },
};
