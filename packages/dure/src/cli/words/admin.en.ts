/** What the commands of tokens, logins, the database, chats and new files say. */
export const ADMIN_EN = {
  token: {
    made: (id: string, name: string, scopes: string) =>
      `Token ${id} for ${name}, scopes ${scopes}. It is not shown again.`,
    isAgent: (name: string) =>
      `An agent is called ${name}: a person cannot speak in rooms with this token. ` +
      "Make one of another name.",
    none: "There is no token yet: dure token create NAME",
    hasRoles: (roles: string) => `It may approve what asks for: ${roles}.`,
    head: ["id", "name", "scopes", "roles", "tenant", "state"],
    valid: "valid",
    revoked: "revoked",
    isRevoked: (id: string) => `${id} is revoked.`,
    fromNowOn:
      "From now on every caller needs a token or a login. In the team's folder dure login opens " +
      "the page.",
    fromNowOnWith: (file: string) =>
      "From now on every caller needs a token or a login. At this machine, in this folder, dure " +
      `goes on with ${file}; dure login opens the page.`,
    fromNowOnWithout: (file: string, why: string) =>
      `From now on every caller needs a token or a login, also you: ${file} cannot ` +
      `be written (${why}). Set DURE_TOKEN, or use this token.`,
    noLogin: "No browser is logged in.",
    loginsHead: ["id", "token", "since (UTC)", "used", "ends", "browser"],
    ended: (id: string) => `${id} has ended.`,
  },

  mcp: {
    open: (by: string) => `Log in at ${by}, in a browser on this machine:`,
    in: (issuer: string) => `Logged in at ${issuer}. Agents of this team now act there as you.`,
    out: (name: string) => `Logged out of ${name}.`,
    notIn: (name: string) => `There was no login at ${name}.`,
    putDocument: (address: string) =>
      `Put it at ${address}, then set login: { clientDocument: "${address}" }.`,
    revoked: (issuer: string) => `Its tokens are ended at ${issuer}.`,
    notOffered: (issuer: string) =>
      `${issuer} offers no way to end tokens. They count there until they are over.`,
    notRevoked: (issuer: string, because: string) =>
      `${issuer} has not ended the tokens: ${because}. They may count there until ` +
      "they are over; end them there yourself.",
  },

  database: {
    at: (where: string) => `Database: ${where}`,
    head: ["table", "rows (about)", "size"],
    migrate: "Migrate",
    migrated: (migration: number, release: number) =>
      `schema dure is at migration ${migration}, release ${release}`,
    backUp: (file: string) => `Back up to ${file}`,
    restore: (file: string) => `Restore from ${file}`,
    rows: (rows: number, tables: number) => `${rows} rows of ${tables} tables`,
  },

  made: {
    stands: (title: string, place: string) => `${title} stands in ${place}`,
    service: (entry: string) => `Next: add it to the team, services: { ${entry} }`,
    agent: (id: string) =>
      "Next: say there who it is. It answers in dure dev at once, elsewhere after dure reload: " +
      `dure chat --service ${id}`,
    tool: (name: string) =>
      `Next: write there what it does, and name it in an agent's agent.md: tools: [${name}]`,
    skill: (name: string) =>
      `Next: write there what is to be done. Agents know ${name} in dure dev at once, elsewhere ` +
      "after dure reload",
    plan: (name: string) =>
      `Next: say there what is to be done and who works, then: dure plan check ${name}`,
  },

  reload: {
    services: (names: string) => `services ${names}`,
    agents: (names: string) => `agents ${names}`,
    restart: (settings: string) => `Changed, and as before until a restart: ${settings}`,
  },

  chat: {
    session: (id: string) => `Session ${id}. An empty line or ctrl-D leaves.`,
    again: (agent: string) => `${agent}: begins again; what it said before is void`,
  },

  log: {
    none: "there is no such entry",
    unknown: "begun; its outcome is unknown",
    outcome: (outcome: string): string => outcome,
    older: (cursor: string) => `There are older ones: --cursor ${cursor}`,
    reset: (since: string, oldest: string | undefined) =>
      `The position ${since} is no longer kept; continuing at ${oldest ?? "now"}.`,
  },
};

export type AdminWords = typeof ADMIN_EN;
