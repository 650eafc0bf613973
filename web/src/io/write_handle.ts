// Writing a file that a browser gave, whole or not at all.

/** Writes a file: what is written takes its place when it is closed, not before. */
export async function writeHandle(
  handle: FileSystemFileHandle,
  parts: readonly Uint8Array<ArrayBuffer>[],
): Promise<void> {
  const stream = await handle.createWritable();
  try {
    for (const part of parts) await stream.write(part);
    await stream.close();
  } catch (error) {
    await stream.abort().catch(() => undefined);
    throw error;
  }
}
