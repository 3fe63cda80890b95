/** The first three names, and how many more there are. Pure. */
export function namesOf(names: readonly string[]): string {
  const first = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${first} and ${names.length - 3} more` : first;
}
