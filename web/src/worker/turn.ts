// Turns of the event loop: other tasks get theirs. Promises alone never let a message in, and a timer takes 4 ms.

let ready: (() => void)[] = [];
let channel: MessageChannel | undefined;

/** Resolves in a task of its own. */
export function turn(): Promise<void> {
  const { setImmediate } = globalThis as { setImmediate?: (fn: () => void) => unknown };
  return new Promise((resolve) => {
    if (setImmediate) {
      setImmediate(resolve);
      return;
    }
    if (!channel) {
      channel = new MessageChannel();
      channel.port1.onmessage = () => {
        const now = ready;
        ready = [];
        for (const go of now) go();
      };
    }
    ready.push(resolve);
    channel.port2.postMessage(undefined);
  });
}

/** Milliseconds of work after which others get their turn: half a frame. */
export const turnAfter = 8;
