/** Members of an object that have a value. */
type Given<Options> = {
  [Name in keyof Options]?: Exclude<Options[Name], undefined>;
};

/** The members that have a value, for callees that know "absent" but not `undefined`. Pure. */
export function given<Options extends object>(options: Options): Given<Options> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Given<Options>;
}
