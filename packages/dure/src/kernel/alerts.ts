/** Why a person is told something outside of the page. */
export const ALERT_KINDS = ["answer", "mention", "question", "escalation"] as const;
/** One of `ALERT_KINDS`. */
export type AlertKind = (typeof ALERT_KINDS)[number];

/** What a person may want to be told. */
export const TOLD_CHOICES = ["all", "mentions-and-answers", "nothing"] as const;
/** One of `TOLD_CHOICES`. */
export type ToldChoice = (typeof TOLD_CHOICES)[number];
