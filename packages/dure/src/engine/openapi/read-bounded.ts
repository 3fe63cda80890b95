/** At most so many bytes of an answer; the connection is given up beyond. */
export async function readBounded(
  response: Response,
  most: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) break; // leaving the loop cancels the stream
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), isCut: bytes > most };
}
