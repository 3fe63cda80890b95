import { shareOf, type Cents } from "../money/money.ts";
import { TABLE } from "./table.ts";

/** What is taken off a total. */
export function discountOf(total: Cents, isMember: boolean): Cents {
  const reached = TABLE.filter(({ from }) => total > from);
  const percent = reached.reduce((most, { share }) => most + share, 0) + (isMember ? 1 : 0);
  return shareOf(total, percent);
}
