/**
 * A row whose columns are the members of a type, which asks for a column of each: names with `_`,
 * and moments as dates.
 */
export type RowOf<Value, Moment extends keyof Value = never> = {
  readonly [Key in keyof Value as Column<Key & string>]: Key extends Moment
    ? Date | Extract<Value[Key], null>
    : Value[Key];
};

type Column<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Column<Rest>}`
  : Name;
