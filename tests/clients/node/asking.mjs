// Asks for what stands on stdin, one case after another, and prints what the client parsed, one line of JSON each.
// A case has a wire, the name of a reply, whether to stream, and the URL of a server.

export async function main(readers) {
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  for (const told of JSON.parse(Buffer.concat(pieces).toString("utf8"))) {
    let heard;
    try {
      heard = await readers[told.wire](told.url, told.stream);
    } catch (error) {
      heard = { error: `${error.name}: ${error.message}` };
    }
    process.stdout.write(JSON.stringify({ ...told, heard }) + "\n");
  }
}

// Two counts, or null where neither was told.
export function spent(read, written) {
  return read == null && written == null ? null : [read ?? null, written ?? null];
}
