/**
 * What the platform answers instead of doing it. Source: the platform's "Opcodes and Status Codes:
 * JSON Error Codes".
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  /** Per field what is wrong with it. Source: "API Reference: Error Messages". */
  readonly errors: object | undefined;

  constructor(status: number, code: number, message: string, errors?: object) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  get body(): object {
    return { message: this.message, code: this.code, errors: this.errors };
  }
}

export const REFUSALS = {
  unauthorized: () => new Refusal(401, 0, "401: Unauthorized"),
  unknownRoute: () => new Refusal(404, 0, "404: Not Found"),
  unknownChannel: () => new Refusal(404, 10003, "Unknown Channel"),
  unknownGuild: () => new Refusal(404, 10004, "Unknown Guild"),
  unknownMember: () => new Refusal(404, 10007, "Unknown Member"),
  unknownMessage: () => new Refusal(404, 10008, "Unknown Message"),
  unknownUser: () => new Refusal(404, 10013, "Unknown User"),
  unknownWebhook: () => new Refusal(404, 10015, "Unknown Webhook"),
  unknownInteraction: () => new Refusal(404, 10062, "Unknown interaction"),
  alreadyAcknowledged: () => new Refusal(400, 40060, "Interaction has already been acknowledged."),
  missingAccess: () => new Refusal(403, 50001, "Missing Access"),
  noTextChannel: () => new Refusal(400, 50008, "Cannot send messages in a non-text channel"),
  notTheAuthor: () => new Refusal(403, 50005, "Cannot edit a message authored by another user"),
  emptyMessage: () => new Refusal(400, 50006, "Cannot send an empty message"),
  missingPermissions: () => new Refusal(403, 50013, "Missing Permissions"),
  wrongChannelType: () => new Refusal(400, 50024, "Cannot execute action on this channel type"),
  tooManyCommands: () =>
    new Refusal(400, 30032, "Maximum number of application commands reached (100)"),
  archivedThread: () => new Refusal(400, 50083, "Thread is archived"),
  lockedThread: () => new Refusal(403, 50083, "Thread is archived"),
  threadExists: () =>
    new Refusal(400, 160004, "A thread has already been created for this message"),
  invalidJson: () => new Refusal(400, 50109, "The request body contains invalid JSON."),
  /**
   * Of a guild in an outage. The platform does not say what it answers then; the hardest for a
   * client is what may have happened. Source: "HTTP Response Codes: 5xx".
   */
  unavailable: () => new Refusal(503, 0, "503: Service Unavailable"),
  /** @param errors per field `{_errors: [{code, message}]}`, nested as the body is. */
  invalidForm: (errors: object) => new Refusal(400, 50035, "Invalid Form Body", errors),
} as const;
