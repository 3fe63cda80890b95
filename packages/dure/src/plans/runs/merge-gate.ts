/** Who has to agree before a result is merged or published. */
export interface MergeRule {
  /** People who approved the very commit. Default 0. */
  readonly approvals?: number | undefined;
  /** `author`: the one who began the run does not count. */
  readonly not?: "author" | undefined;
}
