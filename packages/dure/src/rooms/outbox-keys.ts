/** One account's messages leave only where that account is connected. */
export function topicOf(adapter: string, account: string, isLocal: boolean): string {
  return isLocal ? `room.${adapter}` : `room.${adapter}.${account}`;
}

export function orderingOf(account: string, place: string): string {
  return `${account}@${place}`;
}

export function partKey(message: string, part: number): string {
  return `${message}/${part}`;
}

/** Room for mentions, which are longer on their platform than in dure's text. */
export function partLength(messageLength: number): number {
  return messageLength - Math.min(200, Math.floor(messageLength / 10));
}
